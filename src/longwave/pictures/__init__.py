"""Pictures: a folder of them to an index, a picture or a part of one to a query (extras `images` and `torch`).

`build_index` makes the index, `Gallery` searches it by picture, `sync` brings it up to its folder. Below them:
encoders, R-MAC regions, whitening, reduction, files of descriptors, contact sheets. Leans on index and collection.
"""

from longwave.pictures.building import build_index
from longwave.pictures.describe import Description, describe_folder, describe_more, describe_queries
from longwave.pictures.description_file import read_description, write_description
from longwave.pictures.encoders import (
    Encoder,
    OnnxEncoder,
    TorchEncoder,
    default_encoder,
    open_encoder,
    to_onnx,
    write_onnx,
)
from longwave.pictures.encoding import remove_finished
from longwave.pictures.facts import index_facts, is_of_pictures, treatment_from, whitening_from
from longwave.pictures.finding import SUFFIXES, is_picture, list_pictures
from longwave.pictures.gallery import Gallery, PictureQuery, query
from longwave.pictures.opening import open_picture, parse_box, picture_size
from longwave.pictures.reduction import reduce_regions
from longwave.pictures.regions import grid, pooled_regions
from longwave.pictures.relocating import Relocated, relocate
from longwave.pictures.sheet import Answer, Cell, check_drawing, draw_sheet
from longwave.pictures.syncing import Synced, sync
from longwave.pictures.thumbnails import thumbnail
from longwave.pictures.treatment import Treatment
from longwave.pictures.whitening import Whitening, learn_pca, learn_supervised, read_whitening, write_whitening

__all__ = [
    "build_index", "Gallery", "PictureQuery", "query", "thumbnail", "sync", "Synced", "relocate", "Relocated",
    "describe_folder", "describe_more", "describe_queries", "Description", "Treatment", "remove_finished",
    "Encoder", "OnnxEncoder", "TorchEncoder", "default_encoder", "open_encoder", "to_onnx", "write_onnx",
    "grid", "pooled_regions", "Whitening", "learn_pca", "learn_supervised", "read_whitening", "write_whitening",
    "reduce_regions",
    "write_description", "read_description", "index_facts", "is_of_pictures", "treatment_from", "whitening_from",
    "SUFFIXES", "is_picture", "list_pictures", "open_picture", "parse_box", "picture_size",
    "Answer", "Cell", "check_drawing", "draw_sheet",
]  # fmt: skip
