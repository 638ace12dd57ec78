"""Make the example pairs: fourteen spoken requests, each with two spoken answers and four known labels.

The set is what `make demo` measures and judges, and tests use it. Nothing was recorded and nobody was
asked to label: every clip comes from a free speech synthesiser, every fault is put in below on purpose,
and so every label holds by construction. One JSON line a pair goes to pairs.jsonl, the clips beside it.

Labels are "1", "2", "both_good" or "both_bad". An answer is acceptable in
  content          when it answers what was asked (both answers of a pair mostly say the same words);
  voice_quality    when no noise, clipping, telephone band or drop-outs were added. A plain synthetic
                   voice counts as acceptable here: the scale is damage to the sound, not humanity;
  paralinguistics  when it is delivered as asked (fast, loud, high, fading, with pauses), or when the
                   request says nothing about delivery.
One acceptable answer wins, none is both_bad, two are both_good; `overall_label` gives the fourth label.
The script works the labels out from the faults and stops if they differ from those written with the pair.

Rerun it (Debian packages: espeak-ng flite festival festvox-kallpc16k sox libsox-fmt-all; no Python packages):

    python3 trace/examples/make.py [FOLDER]     # default: the folder of this script

The same versions of the tools give the same bytes: all noise is seeded and sox runs with -R and no dither.
"""

from __future__ import annotations

import array
import json
import math
import random
import subprocess
import sys
import tempfile
import wave
from dataclasses import dataclass
from pathlib import Path

Samples = list[float]  # one channel, full scale is 1.0

WORK_RATE = 16_000  # Hz: the rate of the voices themselves and of nearly all clips written
LEVEL_DB = -26.0  # every clip's RMS level in dB of full scale before its effects
EDGE_S = 0.15  # silence left before and after the speech of a clip
BAD, GOOD = "both_bad", "both_good"
DAMAGE = {"noise", "clip", "phone", "dropouts"}  # the effects that make voice quality unacceptable


class ExampleError(Exception):
    """Something that stops the making of the examples, said in one line."""


# --- the data: who says what, how, and what is wrong with it -----------------------------------------


@dataclass(frozen=True)
class Clip:
    """One sound file: a text, the voice that speaks it, how, and the effects put on it in order."""

    name: str  # file name without .flac
    voice: str  # engine-voice, see `synthesise`
    text: str  # "|" cuts it into parts joined with `pause_s` of silence
    system: str = ""  # the speech-to-speech system this answer is presented as coming from
    speed: float = 1.0  # 2.0 is twice as fast
    pitch: float = 1.0  # 2.0 is an octave up (flite-slt, flite-rms and flite-awb)
    pause_s: float = 0.0
    effects: tuple[tuple[str, float], ...] = ()  # (name, value), see `apply_effect`
    rate: int = WORK_RATE  # Hz of the file written
    channels: int = 1


@dataclass(frozen=True)
class Pair:
    """One request with two answers. The faults are named by answer: "", "1", "2" or "12"."""

    name: str
    request: Clip
    first: Clip
    second: Clip
    label: tuple[str, str, str, str]  # content, voice quality, paralinguistics, overall
    why: str
    wrong_words: str = ""  # answers that do not answer the request
    wrong_delivery: str = ""  # answers not delivered as the request wants
    spoken_only: bool = False  # leave the text of the request out of pairs.jsonl


NOISE = (("noise", 8.0),)  # white noise 8 dB under the speech: plainly heard, the words still get through

CAPITAL = Clip("capital-instruction", "flite-slt", "What is the capital city of France?")
CAPITAL_TEXT = "The capital of France is Paris. About two million people live in the city."
CAPITAL_RMS = Clip("capital-rms", "flite-rms", CAPITAL_TEXT, "flite-rms")
CAPITAL_RMS_NOISY = Clip("capital-rms-noisy", "flite-rms", CAPITAL_TEXT, "flite-rms-noisy", effects=NOISE)
CAPITAL_KAL_NOISY = Clip("capital-kal-noisy", "festival-kal", CAPITAL_TEXT, "festival-kal-noisy", effects=NOISE)
CAPITAL_RMS_PHONE = Clip(
    "capital-rms-phone", "flite-rms", CAPITAL_TEXT, "flite-rms-phone", effects=(("phone", 3400.0), ("dropouts", 0.08))
)

WEEK = Clip("week-instruction", "flite-rms", "How many days are in one week?")
WEEK_RIGHT = Clip(
    "week-espeak",
    "espeak-ng",
    "There are seven days in a week, and fifty two weeks in a year.",
    "espeak-ng",
    rate=24_000,
)
WEEK_WRONG = Clip(
    "week-espeak-offtopic",
    "espeak-ng",
    "My brother plays the guitar and my sister plays the piano.",
    "espeak-ng-offtopic",
)

MONTHS = Clip("months-instruction", "flite-awb", "How many months are there in one year, and which is the first?")
MONTHS_TEXT = "There are twelve months in a year. The first month is January."
MONTHS_FLITE = Clip("months-flite-kal", "flite-kal16", MONTHS_TEXT, "flite-kal")
MONTHS_FESTIVAL = Clip("months-festival-kal", "festival-kal", MONTHS_TEXT, "festival-kal", channels=2)

TRAIN = Clip("train-instruction", "flite-rms", "Give me one reason to take the train to work.")
TRAIN_TEXT = "Trains are quick, and you can read a book on the way to work."
TRAIN_CLIPPED = Clip("train-rms-clipped", "flite-rms", TRAIN_TEXT, "flite-rms-clipped", effects=(("clip", 24.0),))
TRAIN_CLEAN = Clip("train-rms", "flite-rms", TRAIN_TEXT, "flite-rms", effects=(("gain", 8.0),))

HURRY = Clip("fast-speech-instruction", "flite-rms", "Tell me to hurry up, and speak as fast as you can.")
HURRY_TEXT = "Hurry up, the bus leaves in two minutes and we still have to walk to the station."
HURRY_FAST = Clip("hurry-rms-fast", "flite-rms", HURRY_TEXT, "flite-rms", speed=1.5)
HURRY_SLOW = Clip("hurry-rms-slow", "flite-rms", HURRY_TEXT, "flite-rms-unheeding", speed=0.65)

NIGHT = Clip("fading-voice-instruction", "flite-slt", "Say good night, and let your voice slowly fade away.")
NIGHT_TEXT = "Good night my friend. Sleep well, and have sweet dreams until the morning."
NIGHT_FADING = Clip("night-kal-fading", "flite-kal16", NIGHT_TEXT, "flite-kal", effects=(("fade", 26.0),))
NIGHT_STEADY = Clip("night-kal-steady", "flite-kal16", NIGHT_TEXT, "flite-kal-unheeding")

DINNER = Clip("loud-voice-instruction", "flite-awb", "Call everyone to dinner in a very loud voice.")
DINNER_TEXT = "Dinner is ready. Please come to the table now, everyone."
DINNER_QUIET = Clip("dinner-slt-quiet", "flite-slt", DINNER_TEXT, "flite-slt-unheeding", effects=(("gain", -18.0),))
DINNER_LOUD = Clip("dinner-slt-loud", "flite-slt", DINNER_TEXT, "flite-slt", effects=(("gain", 8.0),))

CAT = Clip("high-pitch-instruction", "flite-rms", "Tell me about your cat in a very high voice.")
CAT_TEXT = "My little cat is called Lucy, and she sleeps on my bed all day."
CAT_PLAIN = Clip("cat-slt-plain", "flite-slt", CAT_TEXT, "flite-slt-unheeding")
CAT_HIGH = Clip("cat-slt-high", "flite-slt", CAT_TEXT, "flite-slt", pitch=1.7)

COLORS = Clip("long-pauses-instruction", "flite-slt", "Name four colors with a long pause after each one.")
COLORS_PAUSES = Clip("colors-rms-pauses", "flite-rms", "Red.|Yellow.|Green.|Blue.", "flite-rms", pause_s=1.0)
COLORS_PLAIN = Clip("colors-rms-plain", "flite-rms", "Red, yellow, green, and blue.", "flite-rms-unheeding")

WAY = Clip("slow-speech-instruction", "espeak-ng", "Please speak very slowly. How do I get to the station?")
WAY_TEXT = "Go down the street for ten minutes, and turn left at the river."
WAY_FAST = Clip("way-rms-fast", "flite-rms", WAY_TEXT, "flite-rms-unheeding", speed=1.4)
WAY_SLOW_NOISY = Clip("way-rms-slow-noisy", "flite-rms", WAY_TEXT, "flite-rms-noisy", speed=0.55, effects=NOISE)
WAY_SLOW_WRONG = Clip(
    "way-rms-slow-offtopic",
    "flite-rms",
    "You can buy fresh bread at the shop on the corner.",
    "flite-rms-offtopic",
    speed=0.5,
)
WAY_FAST_WRONG = Clip(
    "way-rms-fast-offtopic",
    "flite-rms",
    "My little cat is called Lucy, and she sleeps on my bed all day.",
    "flite-rms-offtopic",
    speed=1.4,
)
WAY_FAST_WRONG_TOO = Clip(
    "way-kal-fast-offtopic",
    "festival-kal",
    "The weather will be warm and sunny for the rest of the week, and then it will rain.",
    "festival-kal-offtopic",
    speed=1.2,
)

PAIRS: tuple[Pair, ...] = (
    Pair(
        "noisy-answer",
        CAPITAL,
        CAPITAL_RMS,
        CAPITAL_RMS_NOISY,
        (GOOD, "1", GOOD, "1"),
        "Same voice and words; answer 2 has white noise 8 dB under the speech.",
    ),
    Pair(
        "telephone",
        CAPITAL,
        CAPITAL_RMS_PHONE,
        CAPITAL_RMS,
        (GOOD, "2", GOOD, "2"),
        "Same voice and words; answer 1 has only the band 300 to 3400 Hz and drops out for 80 ms again and again.",
    ),
    Pair(
        "both-noisy",
        CAPITAL,
        CAPITAL_KAL_NOISY,
        CAPITAL_RMS_NOISY,
        (GOOD, BAD, GOOD, GOOD),
        "Both say the same right words, both under white noise at 8 dB.",
    ),
    Pair(
        "clipped-answer",
        TRAIN,
        TRAIN_CLIPPED,
        TRAIN_CLEAN,
        (GOOD, "2", GOOD, "2"),
        "Same voice and words; answer 1 is driven 24 dB into hard clipping. Spoken only: no instruction_text "
        "is given, the request must be transcribed.",
        spoken_only=True,
    ),
    Pair(
        "wrong-words",
        WEEK,
        WEEK_WRONG,
        WEEK_RIGHT,
        ("2", GOOD, GOOD, "2"),
        "Same clean voice; asked for the days in a week, answer 1 talks about music, answer 2 says seven.",
        wrong_words="1",
    ),
    Pair(
        "both-fine",
        MONTHS,
        MONTHS_FLITE,
        MONTHS_FESTIVAL,
        (GOOD, GOOD, GOOD, GOOD),
        "Same right words by two programs from one speaker's recordings; nothing is wrong with either.",
    ),
    Pair(
        "fast-speech",
        HURRY,
        HURRY_FAST,
        HURRY_SLOW,
        (GOOD, GOOD, "1", "1"),
        "Same voice and words; asked for fast speech, answer 1 is more than twice as fast as answer 2.",
        wrong_delivery="2",
    ),
    Pair(
        "fading-voice",
        NIGHT,
        NIGHT_FADING,
        NIGHT_STEADY,
        (GOOD, GOOD, "1", "1"),
        "Same voice and words; asked to fade away, answer 1 falls evenly by 26 dB, answer 2 stays level.",
        wrong_delivery="2",
    ),
    Pair(
        "loud-voice",
        DINNER,
        DINNER_QUIET,
        DINNER_LOUD,
        (GOOD, GOOD, "2", "2"),
        "Same voice and words; asked for a very loud voice, answer 1 is 26 dB quieter than answer 2.",
        wrong_delivery="1",
    ),
    Pair(
        "high-pitch",
        CAT,
        CAT_PLAIN,
        CAT_HIGH,
        (GOOD, GOOD, "2", "2"),
        "Same voice and words; asked for a very high voice, answer 2 is raised 1.7 times, answer 1 not at all.",
        wrong_delivery="1",
    ),
    Pair(
        "long-pauses",
        COLORS,
        COLORS_PAUSES,
        COLORS_PLAIN,
        (GOOD, GOOD, "1", "1"),
        "Same voice and colors; asked for long pauses, answer 1 is silent for 1 s between them, answer 2 runs on.",
        wrong_delivery="2",
    ),
    Pair(
        "words-over-manner",
        WAY,
        WAY_FAST,
        WAY_SLOW_WRONG,
        ("1", GOOD, "2", "1"),
        "Asked for the way in slow speech, answer 1 tells it but fast, answer 2 is slow but about bread; "
        "content counts before delivery.",
        wrong_words="2",
        wrong_delivery="1",
    ),
    Pair(
        "manner-over-quality",
        WAY,
        WAY_FAST,
        WAY_SLOW_NOISY,
        (GOOD, "1", "2", "2"),
        "Same voice and words; asked for slow speech, answer 1 is clean but fast, answer 2 slow under noise at 8 dB; "
        "delivery counts before voice quality.",
        wrong_delivery="1",
    ),
    Pair(
        "both-wrong",
        WAY,
        WAY_FAST_WRONG,
        WAY_FAST_WRONG_TOO,
        (BAD, GOOD, BAD, BAD),
        "Asked for the way in slow speech, both are fast and off the subject, one about a cat, one about the weather.",
        wrong_words="12",
        wrong_delivery="12",
    ),
)


# --- labels ------------------------------------------------------------------------------------------


def dimension_label(faulty: str) -> str:
    """The label of one dimension, from the answers that are not acceptable in it."""
    return {"": GOOD, "1": "2", "2": "1", "12": BAD}[faulty]


def overall_label(content: str, voice_quality: str, paralinguistics: str) -> str:
    """Both bad in words and delivery is bad; else the first dimension with a winner; else the words."""
    if content == paralinguistics == BAD:
        return BAD
    return next((label for label in (content, paralinguistics, voice_quality) if label in ("1", "2")), content)


def check_label(pair: Pair) -> None:
    """Stop if the labels written with the pair are not those that its faults give."""
    damaged = "".join(
        number
        for number, clip in (("1", pair.first), ("2", pair.second))
        if any(name in DAMAGE for name, _ in clip.effects)
    )
    given = tuple(dimension_label(faulty) for faulty in (pair.wrong_words, damaged, pair.wrong_delivery))
    expected = (*given, overall_label(*given))
    if pair.label != expected:
        raise ExampleError(f"pair {pair.name}: its faults give the labels {expected}, written are {pair.label}")


# --- sound -------------------------------------------------------------------------------------------


def run(command: list[str], package: str, stdin: str = "") -> None:
    """Run one tool; whatever goes wrong becomes one line."""
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise ExampleError(f"{command[0]} is not installed; on Debian: apt-get install {package}") from None
    if done.returncode != 0 or "SIOD ERROR" in done.stderr:  # festival exits with 0 whatever happens
        reason = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise ExampleError(f"{command[0]} failed (Debian: apt-get install {package}): {reason}")


def synthesise(voice: str, text: str, speed: float, pitch: float, wav: Path) -> None:
    """Speak a text into a WAV file, at whatever rate the voice has."""
    engine, _, name = voice.partition("-")
    stretch = f"{1 / speed:.4f}"
    if pitch != 1.0 and voice not in ("flite-slt", "flite-rms", "flite-awb"):
        raise ExampleError(f"the voice {voice} cannot change its pitch here")
    if engine == "flite":
        settings = ["--setf", f"duration_stretch={stretch}", "--setf", f"f0_shift={pitch:.4f}"]
        run(["flite", "-voice", name, *settings, "-t", text, "-o", str(wav)], "flite")
    elif engine == "festival":
        lisp = f"(begin (voice_{name}_diphone) (Parameter.set 'Duration_Stretch {stretch}))"
        run(["text2wave", "-eval", lisp, "-o", str(wav)], "festival festvox-kallpc16k", stdin=text)
    elif engine == "espeak":
        run(["espeak-ng", "-v", "en-us", "-s", str(round(160 * speed)), "-w", str(wav), text], "espeak-ng")
    else:
        raise ExampleError(f"no synthesiser for the voice {voice}")


def sox(source: Path, target: Path, rate: int, channels: int, *effects: str) -> None:
    """Convert a sound file to 16 bit at a rate, without dither, time stamps or comments."""
    out = ["-b", "16", "-r", str(rate), "-c", str(channels), "--comment", ""]
    flac = ["-C", "8"] if target.suffix == ".flac" else []
    run(["sox", "-R", "-D", "-G", str(source), *out, *flac, str(target), *effects], "sox libsox-fmt-all")


def read_wav(path: Path) -> Samples:
    """The samples of a 16-bit mono file."""
    with wave.open(str(path), "rb") as file:
        data = array.array("h", file.readframes(file.getnframes()))
    return [value / 32768 for value in data]


def write_wav(path: Path, samples: Samples, rate: int) -> None:
    """Write a 16-bit mono file; what is over full scale is cut."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        whole = (round(32767 * max(-1.0, min(1.0, value))) for value in samples)
        file.writeframes(array.array("h", whole).tobytes())


def rms(samples: Samples) -> float:
    """The root mean square, 1.0 being full scale."""
    return math.sqrt(sum(value * value for value in samples) / len(samples))


def decibels(db: float) -> float:
    """The factor on the amplitude."""
    return math.pow(10.0, db / 20.0)


def scale(samples: Samples, factor: float) -> Samples:
    """Multiply every sample."""
    return [factor * value for value in samples]


def trim(samples: Samples) -> Samples:
    """Cut off what is below 1 % of the peak at both ends."""
    loud = 0.01 * max(map(abs, samples))
    spoken = [index for index, value in enumerate(samples) if abs(value) >= loud]
    return samples[spoken[0] : spoken[-1] + 1]


def add_noise(samples: Samples, snr_db: float) -> Samples:
    """White Gaussian noise at a signal-to-noise ratio over the whole clip."""
    source = random.Random(f"noise over {len(samples)} samples")
    deviation = rms(samples) / decibels(snr_db)
    return [value + source.gauss(0.0, deviation) for value in samples]


def clip_hard(samples: Samples, drive_db: float) -> Samples:
    """Drive the highest peak this far over full scale and cut everything at full scale."""
    factor = decibels(drive_db) / max(map(abs, samples))
    return [max(-1.0, min(1.0, factor * value)) for value in samples]


def telephone(samples: Samples, top_hz: float, rate: int) -> Samples:
    """Keep 300 Hz to `top_hz`, at the level there was before."""
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder, "before.wav"), Path(folder, "after.wav")
        write_wav(before, samples, rate)
        sox(before, after, rate, 1, "sinc", f"300-{top_hz:.0f}")
        narrow = read_wav(after)
    return scale(narrow, rms(samples) / rms(narrow))


def drop_out(samples: Samples, length_s: float, rate: int) -> Samples:
    """Silence of this length again and again, 0.3 to 0.6 s apart."""
    source = random.Random(f"drop-outs in {len(samples)} samples")
    result, start = list(samples), 0
    while (start := start + round(source.uniform(0.3, 0.6) * rate)) < len(result):
        for index in range(start, min(start + round(length_s * rate), len(result))):
            result[index] = 0.0
    return result


def fade_out(samples: Samples, fall_db: float) -> Samples:
    """Fall by this many dB from start to end, at an even pace in dB."""
    return [value * decibels(-fall_db * index / len(samples)) for index, value in enumerate(samples)]


def apply_effect(name: str, value: float, samples: Samples, rate: int) -> Samples:
    """Put one effect on a clip."""
    match name:
        case "noise":
            return add_noise(samples, value)
        case "clip":
            return clip_hard(samples, value)
        case "phone":
            return telephone(samples, value, rate)
        case "dropouts":
            return drop_out(samples, value, rate)
        case "fade":
            return fade_out(samples, value)
        case "gain":
            return scale(samples, decibels(value))
        case _:
            raise ExampleError(f"no effect is called {name}")


def make_clip(clip: Clip, out: Path) -> None:
    """Speak, trim, join, bring to level, put the effects on, write the FLAC file."""
    work_rate = max(clip.rate, WORK_RATE)
    silence = [0.0] * round(EDGE_S * work_rate)
    spoken: Samples = []
    with tempfile.TemporaryDirectory() as folder:
        raw, wav = Path(folder, "raw.wav"), Path(folder, "work.wav")
        for number, part in enumerate(clip.text.split("|")):
            synthesise(clip.voice, part, clip.speed, clip.pitch, raw)
            sox(raw, wav, work_rate, 1)
            if number:
                spoken += [0.0] * round(clip.pause_s * work_rate)
            part_samples = trim(read_wav(wav))
            spoken += scale(part_samples, decibels(LEVEL_DB) / rms(part_samples))
        samples = silence + spoken + silence
        for name, value in clip.effects:
            samples = apply_effect(name, value, samples, work_rate)
        peak = max(map(abs, samples))
        if peak > 1.0:
            raise ExampleError(f"clip {clip.name} goes {20 * math.log10(peak):.1f} dB over full scale")
        write_wav(wav, samples, work_rate)
        sox(wav, out / f"{clip.name}.flac", clip.rate, clip.channels)


def pair_line(pair: Pair) -> str:
    """One line of pairs.jsonl."""
    names = ("content", "voice_quality", "paralinguistics", "overall")
    record: dict[str, object] = {"id": pair.name}
    if not pair.spoken_only:
        record["instruction_text"] = pair.request.text
    record |= {
        "instruction_path": f"{pair.request.name}.flac",
        "instruction_id": pair.request.name.removesuffix("-instruction"),
        "audio1_path": f"{pair.first.name}.flac",
        "audio2_path": f"{pair.second.name}.flac",
        "model_a": pair.first.system,
        "model_b": pair.second.system,
        "label": dict(zip(names, pair.label, strict=True)),
        "why": pair.why,
    }
    return json.dumps(record, ensure_ascii=False)


def main(arguments: list[str]) -> int:
    """Check the labels, make every clip once, write pairs.jsonl last."""
    out = Path(arguments[0]) if arguments else Path(__file__).resolve().parent
    clips: dict[str, Clip] = {}
    try:
        for pair in PAIRS:
            check_label(pair)
            for clip in (pair.request, pair.first, pair.second):
                if clips.setdefault(clip.name, clip) != clip:
                    raise ExampleError(f"two different clips are called {clip.name}")
        out.mkdir(parents=True, exist_ok=True)
        for clip in clips.values():
            make_clip(clip, out)
    except ExampleError as error:
        print(f"make.py: {error}", file=sys.stderr)
        return 1
    (out / "pairs.jsonl").write_text("".join(pair_line(pair) + "\n" for pair in PAIRS), encoding="utf-8")
    size = sum((out / f"{name}.flac").stat().st_size for name in clips)
    print(f"{len(PAIRS)} pairs, {len(clips)} clips, {size / 1e6:.2f} MB in {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
