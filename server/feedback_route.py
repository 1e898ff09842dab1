"""The route by which users say what they think of an answer."""

from __future__ import annotations

import asyncio
import logging
from http import HTTPStatus

from fastapi import APIRouter, HTTPException, Request

from prefrag.server.access import current_access
from prefrag.server.collections import NoSuchCollection, check_collection, served_collection
from prefrag.server.feedback import Feedback, FeedbackNotKept, keep_feedback
from prefrag.server.public_result import hide_folders

logger = logging.getLogger(__name__)

router = APIRouter(tags=["feedback"])


@router.post("/feedback", summary="Say whether an answer was right, and which one would have been")
async def give_feedback(given: Feedback, request: Request) -> dict[str, str]:
    """Keep what a user thinks of an answer."""
    if not request.headers.get("content-type", "").lower().startswith("application/json"):
        # A web page elsewhere can have a browser send anything else to this machine without asking first.
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Send the feedback as application/json.")
    access = current_access.get()
    try:
        if given.index is not None:
            check_collection(given.index)
            collection = given.index
        else:
            allowed = access.collections or ()
            collection = next(iter(allowed)) if len(allowed) == 1 else served_collection()
        return {"id": await asyncio.to_thread(keep_feedback, given, access.key or None, collection)}
    except (FeedbackNotKept, NoSuchCollection) as error:
        if isinstance(error, FeedbackNotKept):
            logger.error("%s", error)
        raise HTTPException(error.http_status, hide_folders(str(error))) from error
