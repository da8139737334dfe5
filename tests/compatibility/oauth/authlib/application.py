"""A Flask application whose users sign in by Authlib. Needs ISSUER, CLIENT_ID, CLIENT_SECRET, CALLBACK, SCOPES and PORT."""

import os

from authlib.integrations.flask_client import OAuth
from flask import Flask, request

app = Flask(__name__)
app.secret_key = "a secret of the suite"
service = OAuth(app).register(
    "content_graph",
    server_metadata_url=f"{os.environ['ISSUER']}/.well-known/openid-configuration",
    client_id=os.environ["CLIENT_ID"],
    client_secret=os.environ["CLIENT_SECRET"],
    client_kwargs={"scope": os.environ["SCOPES"], "code_challenge_method": "S256"},
)


@app.get("/metadata")
def metadata():
    return service.load_server_metadata()


@app.get("/sign-in")
def sign_in():
    return service.authorize_redirect(os.environ["CALLBACK"])


@app.get("/callback")
def callback():
    return service.authorize_access_token()


@app.get("/refresh")
def refresh():
    return service.fetch_access_token(grant_type="refresh_token", refresh_token=request.args["token"])


app.run(port=int(os.environ["PORT"]))
