"""``config``: clusters, listed, changed and removed."""

from __future__ import annotations

import click

from orchd.ctl.cluster.config_files import ConfigFiles
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.commands.config.certificate_files import certificate_values, embed_option
from orchd.ctl.commands.config.entries import delete_command, list_command
from orchd.ctl.printing import output


@click.command("set-cluster", cls=Command)
@click.argument("name")
@click.option("--certificate-authority", "authority", default="", metavar="FILE", help="CA certificates.")
@click.option("--tls-server-name", default="", help="Name that the server's certificate must have.")
@click.option("--proxy-url", default="", help="HTTP proxy for connections to the server.")
@embed_option
@pass_session
def set_cluster(session: Session, name: str, authority: str, tls_server_name: str, proxy_url: str, embed: bool) -> None:
    """Change or add a cluster with the values of --server and the flags below."""
    values, without = certificate_values({"certificate-authority": authority}, embed=embed)
    plain = {"server": session.flags.server, "tls-server-name": tls_server_name, "proxy-url": proxy_url}
    values |= {key: value for key, value in plain.items() if value}
    if session.flags.insecure:
        values["insecure-skip-tls-verify"] = True
        without += ("certificate-authority", "certificate-authority-data")
    elif authority:
        without += ("insecure-skip-tls-verify",)
    ConfigFiles(session).put("clusters", name, values, without=without)
    output.line(f'Cluster "{name}" set.')


get_clusters = list_command("clusters")
delete_cluster = delete_command("clusters")
