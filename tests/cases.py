"""Hand-made blueprints and cases, with every feature group; the numbers mean nothing."""

from __future__ import annotations

from typing import Any

from trace_s2s.schemas import (
    Accent,
    Blueprint,
    Case,
    Clip,
    Contour,
    Emotion,
    Failure,
    Features,
    Item,
    Loudness,
    Pitch,
    Quality,
    Rate,
    Segment,
    Transcript,
    Turns,
    Voice,
    Word,
)


def features(text: str = "It is three o'clock.", **replaced: Any) -> Features:
    """All groups measured; ``group=None`` takes one away."""
    pitch_track = tuple([None] * 20 + [180.0 + n for n in range(80)])
    loudness_track = (None, -24.0, -20.0, -22.0, -26.0, -45.0)
    made = {
        "transcript": Transcript(
            text=text,
            language="en",
            words=(Word(text="It", start_s=0.1, end_s=0.25, probability=0.9),),
            mean_logprob=-0.2,
            no_speech_probability=0.01,
        ),
        "quality": Quality(signal_mos=4.21, background_mos=4.4, overall_mos=4.05, p808_mos=3.9, n_windows=1),
        "emotion": Emotion(scores={"angry": 0.02, "happy": 0.71, "neutral": 0.2, "sad": 0.07}),
        "accent": Accent(scores={"england": 0.264, "us": 0.691, "canada": 0.427, "wales": 0.182}),
        "pitch": Pitch(
            mean_hz=219.5,
            std_hz=23.1,
            median_hz=219.0,
            voiced_share=0.8,
            contour=Contour(start_s=0.0, step_s=0.01, values=pitch_track),
        ),
        "loudness": Loudness(
            integrated_lufs=-22.4, std_lu=2.3, contour=Contour(start_s=0.2, step_s=0.1, values=loudness_track)
        ),
        "rate": Rate(unit="words", n_units=4, speech_per_min=171.4, articulation_per_min=204.9),
        "voice": Voice(
            jitter_percent=1.02,
            shimmer_percent=5.5,
            hnr_db=14.2,
            cpps_db=8.8,
            spectral_tilt_db=-17.0,
            pitch_range_st=None,
        ),
        "turns": Turns(
            segments=(Segment(start_s=0.1, end_s=1.4),),
            speech_s=1.3,
            leading_silence_s=0.1,
            n_pauses=0,
            longest_pause_s=None,
        ),
    }
    return Features(**{**made, **replaced})


def blueprint(path: str, shown: Features | None = None, **failures: Failure) -> Blueprint:
    clip = Clip(path=path, sha256="0" * 64, duration_s=1.5, sample_rate_hz=16000)
    return Blueprint(clip=clip, features=features() if shown is None else shown, failures=failures)


def case(first: Blueprint | None = None, second: Blueprint | None = None, **of_item: Any) -> Case:
    item = {
        "id": "clock",
        "instruction_text": "What time is it?",
        "instruction_id": "i1",
        "responses": [{"audio_path": "a.wav"}, {"audio_path": "b.wav"}],
    }
    responses = (first or blueprint("a.wav"), second or blueprint("b.wav", features("No idea.")))
    return Case(item=Item.model_validate({**item, **of_item}), responses=responses)
