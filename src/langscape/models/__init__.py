"""Text → Capture, and the models that do it. Importing this loads neither torch nor transformers."""

from langscape.models.packaged import get_model, model_path, packaged_models

__all__ = ["get_model", "model_path", "packaged_models"]
