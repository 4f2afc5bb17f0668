"""Encoders: the default, user models in ONNX, user modules in torch."""

import json

import numpy as np
import pytest

from longwave.errors import DataWarning, FileError, InputError
from longwave.pictures import OnnxEncoder, TorchEncoder, Treatment, default_encoder, open_encoder, write_onnx


@pytest.fixture(scope="module")
def pictures():
    return np.random.default_rng(0).integers(0, 255, size=(2, 96, 128, 3), dtype=np.uint8)


def test_conversion_gives_the_same_maps_and_name(lite0, pictures):
    torch_encoder, converted = default_encoder(), OnnxEncoder.open(lite0)
    assert converted.weights == torch_encoder.weights  # an index of one is searched with the other
    assert (converted.mean, converted.std) == (127.0, 128.0)
    for size in ((96, 128), (75, 50)):
        part = np.ascontiguousarray(pictures[:, : size[0], : size[1]])
        expected = torch_encoder(part)
        assert expected.shape[:2] == (2, 1280)
        np.testing.assert_allclose(converted(part), expected, atol=1e-3)


def test_the_default_is_converted_in_memory(lite0, pictures):
    opened = open_encoder("lite0")
    assert opened.name == "lite0"
    np.testing.assert_allclose(opened(pictures), OnnxEncoder.open(lite0)(pictures), atol=1e-4)
    with pytest.raises(InputError, match="leave out mean"):
        open_encoder("lite0", mean=1.0)
    with pytest.raises(InputError, match=r"\.onnx"):
        open_encoder("resnet")


def test_a_module_of_ones_own(tmp_path, pictures):
    import torch

    module = torch.nn.Conv2d(3, 5, 3, stride=8)
    encoder = TorchEncoder(module, "mine", mean=(1.0, 2.0, 3.0), std=10.0)
    maps = encoder(pictures)
    assert maps.shape == (2, 5, 12, 16)
    write_onnx(encoder, tmp_path / "mine.onnx")
    opened = OnnxEncoder.open(tmp_path / "mine.onnx")
    assert opened.mean == (1.0, 2.0, 3.0)
    np.testing.assert_allclose(opened(pictures), maps, atol=1e-4)
    flat = torch.nn.Sequential(module, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    with pytest.raises(InputError, match=r"maps \(b, C, H, W\)"):
        TorchEncoder(flat, "flat")(pictures)
    with pytest.raises(FileError, match="no folder"):
        write_onnx(encoder, tmp_path / "none" / "x.onnx")


def model(path, nodes, shape, output_rank=4):
    from onnx import TensorProto, helper, save

    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    gives = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * output_rank)
    graph = helper.make_graph(nodes, "g", [given], [gives])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


def test_user_models(tmp_path, pictures):
    from onnx import helper

    shrink = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[8, 8], strides=[8, 8])
    path = model(tmp_path / "map.onnx", [shrink], ["b", 3, "h", "w"])
    maps = OnnxEncoder.open(path, mean=0.0, std=1.0)(pictures)
    assert maps.shape == (2, 3, 12, 16)
    block = pictures[0, :8, :8].astype(float).mean(axis=(0, 1))
    np.testing.assert_allclose(maps[0, :, 0, 0], block, rtol=1e-4)
    single = model(tmp_path / "single.onnx", [shrink], [1, 3, "h", "w"])  # one picture at a time
    np.testing.assert_array_equal(OnnxEncoder.open(single, mean=0.0, std=1.0)(pictures), maps)
    copy = helper.make_node("Identity", ["x"], ["y"])
    last = model(tmp_path / "last.onnx", [copy], ["b", "h", "w", 3])  # channels last
    np.testing.assert_array_equal(OnnxEncoder.open(last, mean=0.0, std=1.0)(pictures), pictures.transpose(0, 3, 1, 2))


def test_scales_are_kept_exactly_and_checked(tmp_path, pictures):
    import torch

    std = tuple(s * 255 for s in (0.229, 0.224, 0.225))  # 57.120000000000005
    encoder = TorchEncoder(torch.nn.Conv2d(3, 4, 8, stride=8), "mine", mean=[1.0, 2.0, 3.0], std=std)
    write_onnx(encoder, tmp_path / "mine.onnx")
    opened = OnnxEncoder.open(tmp_path / "mine.onnx")
    assert opened.std == std
    Treatment.of(encoder).check_same(Treatment.of(opened))
    Treatment.from_facts(json.loads(json.dumps(Treatment.of(encoder).facts()))).check_same(Treatment.of(encoder))
    for bad in (0.0, -1.0, float("nan")):
        with pytest.raises(InputError, match="std above 0"):
            OnnxEncoder.open(tmp_path / "mine.onnx", std=bad)


def test_models_with_more_than_a_map(tmp_path, pictures):
    from onnx import TensorProto, helper, save

    nodes = [
        helper.make_node("AveragePool", ["x"], ["p"], kernel_shape=[8, 8], strides=[8, 8]),
        helper.make_node("Cast", ["p"], ["half"], to=TensorProto.FLOAT16),
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
    ]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["b", 3, "h", "w"])]
    gives = [
        helper.make_tensor_value_info("sum", TensorProto.FLOAT, []),
        helper.make_tensor_value_info("half", TensorProto.FLOAT16, [None] * 4),
    ]
    graph = helper.make_graph(nodes, "g", given, gives)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(tmp_path / "m.onnx"))
    with pytest.warns(DataWarning, match="does not say which pixels it takes"):
        encoder = OnnxEncoder.open(tmp_path / "m.onnx")
    maps = encoder(pictures)
    assert maps.dtype == np.float32
    assert maps.shape == (2, 3, 12, 16)


def test_models_that_do_not_serve(tmp_path):
    from onnx import helper

    pooled = helper.make_node("GlobalAveragePool", ["x"], ["y"])
    with pytest.raises(InputError, match="no output with height and width"):
        OnnxEncoder.open(model(tmp_path / "a.onnx", [pooled], ["b", 3, "h", "w"]))
    flat = helper.make_node("Flatten", ["x"], ["y"])
    with pytest.raises(InputError, match="no output with height and width"):
        OnnxEncoder.open(model(tmp_path / "b.onnx", [flat], ["b", 3, "h", "w"], output_rank=2))
    copy = helper.make_node("Identity", ["x"], ["y"])
    with pytest.raises(InputError, match="224 × 224 pixels only"):
        OnnxEncoder.open(model(tmp_path / "c.onnx", [copy], ["b", 3, 224, 224]))
    with pytest.raises(InputError, match="is needed"):
        OnnxEncoder.open(model(tmp_path / "d.onnx", [copy], ["b", 3], output_rank=2))
    (tmp_path / "e.onnx").write_bytes(b"nothing")
    with pytest.raises(FileError, match="not an ONNX model"):
        OnnxEncoder.open(tmp_path / "e.onnx")
    with pytest.raises(FileError, match="no such file"):
        OnnxEncoder.open(tmp_path / "f.onnx")
