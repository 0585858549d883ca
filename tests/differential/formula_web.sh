# An HTTPS server in the machine itself for the hosts in $hosts: what is in /srv/web/HOST is what HOST has. The names lead
# to it, and its certificate is trusted. It runs as long as the machine.

mkdir -p /srv/web/.tls
cd /srv/web/.tls
names=''
for host in $hosts; do
    mkdir -p "/srv/web/$host"
    echo "127.0.0.1 $host" >>/etc/hosts
    names="$names,DNS:$host"
done
openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 30 -subj '/CN=stand-in' 2>/dev/null
openssl req -newkey rsa:2048 -nodes -keyout web.key -out web.csr -subj '/CN=web' 2>/dev/null
echo "subjectAltName=${names#,}" >extensions
openssl x509 -req -in web.csr -CA ca.pem -CAkey ca.key -set_serial 1 -days 30 -extfile extensions -out web.pem 2>/dev/null
cp ca.pem /usr/local/share/ca-certificates/stand-in.crt
update-ca-certificates >/dev/null 2>&1
cat >server.py <<'PY'
import http.server
import ssl


class Handler(http.server.SimpleHTTPRequestHandler):
    def translate_path(self, path):
        host = self.headers.get("Host", "").partition(":")[0]
        return super().translate_path("/%s/%s" % (host, path.lstrip("/")))


server = http.server.ThreadingHTTPServer(("127.0.0.1", 443), lambda *args: Handler(*args, directory="/srv/web"))
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("/srv/web/.tls/web.pem", "/srv/web/.tls/web.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
PY
systemd-run --quiet --unit=stand-in-web python3 /srv/web/.tls/server.py
cd /
