# Varnish 6 or later in front of two processes of the app, each with TRUSTED_PROXIES=1. Varnish has no TLS, so
# deploy/varnish.haproxy.cfg is in front of it. The defaults are 8 KiB per header, 32 KiB per request and 64 headers:
#   varnishd -a 127.0.0.1:6081,PROXY -f /etc/varnish/login.vcl -s malloc,16m
#     -p http_req_hdr_len=65536 -p http_req_size=98304 -p http_max_hdr=256
#     -p workspace_client=262144 -p workspace_backend=262144 -p backend_idle_timeout=4
# backend_idle_timeout is shorter than the five seconds after which a process that stops closes its connections.
# Do not log the query of a URL, which contains one-time codes: varnishncsa -F '%t %h %m %U %s'
vcl 4.1;

import directors;
import std;

# After SIGTERM, a process fails this check, and gets no more requests.
probe health {
	.url = "/api/health";
	.interval = 2s;
	.timeout = 5s;
	.window = 1;
	.threshold = 1;
	.initial = 1;
}

backend login_3000 {
	.host = "127.0.0.1";
	.port = "3000";
	.connect_timeout = 3s;
	.first_byte_timeout = 40s;
	.probe = health;
}

backend login_3001 {
	.host = "127.0.0.1";
	.port = "3001";
	.connect_timeout = 3s;
	.first_byte_timeout = 40s;
	.probe = health;
}

sub vcl_init {
	new login = directors.round_robin();
	login.add_backend(login_3000);
	login.add_backend(login_3001);
}

# Caches nothing: responses have secrets. Varnish has added the address of the client to X-Forwarded-For.
sub vcl_recv {
	# The largest request body contains a SAML response.
	if (std.integer(req.http.Content-Length, 0) > 524288) {
		return (synth(413));
	}
	set req.backend_hint = login.backend();
	set req.http.X-Forwarded-Proto = "https";
	return (pass);
}
