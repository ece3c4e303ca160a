"""The client of a Rookery service, a shared customer-email inbox."""

from .client import Rookery, RookeryError, WebhookError, verify_webhook

__all__ = ["Rookery", "RookeryError", "WebhookError", "verify_webhook"]
