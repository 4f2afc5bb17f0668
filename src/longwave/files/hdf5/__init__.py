"""HDF5 files of others, read by another process: the library hangs or ends the process on some altered files."""

from longwave.files.hdf5.asking import HDF5_SIGNATURE, Dataset, Reader, open_reader

__all__ = ["HDF5_SIGNATURE", "Dataset", "Reader", "open_reader"]
