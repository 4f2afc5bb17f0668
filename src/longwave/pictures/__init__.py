"""From pictures to vectors: encoders, R-MAC regions, whitening, reduction (extras `images` and `torch`)."""

from longwave.pictures.describe import Description, describe_folder, describe_queries
from longwave.pictures.encoders import (
    Encoder,
    OnnxEncoder,
    TorchEncoder,
    default_encoder,
    open_encoder,
    to_onnx,
    write_onnx,
)
from longwave.pictures.folder import (
    has_recipe,
    index_facts,
    read_description,
    recipe_from,
    whitening_from,
    write_description,
)
from longwave.pictures.opening import SUFFIXES, is_picture, list_pictures, open_picture, parse_box
from longwave.pictures.recipe import Recipe
from longwave.pictures.reduction import reduce_regions
from longwave.pictures.regions import grid, pooled_regions
from longwave.pictures.sheet import Answer, Cell, check_drawing, draw_sheet
from longwave.pictures.whitening import Whitening, learn_pca, learn_supervised, read_whitening, write_whitening

__all__ = [
    "describe_folder", "describe_queries", "Description", "Recipe",
    "Encoder", "OnnxEncoder", "TorchEncoder", "default_encoder", "open_encoder", "to_onnx", "write_onnx",
    "grid", "pooled_regions", "Whitening", "learn_pca", "learn_supervised", "read_whitening", "write_whitening",
    "reduce_regions",
    "write_description", "read_description", "index_facts", "has_recipe", "recipe_from", "whitening_from",
    "SUFFIXES", "is_picture", "list_pictures", "open_picture", "parse_box",
    "Answer", "Cell", "check_drawing", "draw_sheet",
]  # fmt: skip
