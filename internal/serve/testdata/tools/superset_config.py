import os

SECRET_KEY = "for-an-hour-on-the-loopback-0123456789"
SQLALCHEMY_DATABASE_URI = "sqlite:///" + os.environ["CALLHOUSE_SUPERSET_DB"]
WTF_CSRF_ENABLED = False
TALISMAN_ENABLED = False
AUTH_ROLE_PUBLIC = "Admin"  # so that a browser without a login can look at the dashboard
