"""Runs OpenStack Swift with its S3 API in one process for the tests: four servers on 127.0.0.1, with objects in memory.

Arguments: an empty directory, an access key, a secret key. Prints the port of the S3 API when it is ready.
Debian's package python3-swift installs the imported modules.
"""

import os
import sys

import eventlet
import eventlet.event
import eventlet.patcher

eventlet.patcher.monkey_patch(all=False, socket=True, select=True, thread=True)

from eventlet import wsgi  # noqa: E402
from swift.common import utils  # noqa: E402

directory, access_key, secret_key = sys.argv[1:4]


def write(name, text):
    file = os.path.join(directory, name)
    with open(file, 'w') as handle:
        handle.write(text)
    return file


# Swift reads this file while its other modules are loaded.
utils.SWIFT_CONF_FILE = write('swift.conf', """
[swift-hash]
swift_hash_path_suffix = test
[storage-policy:0]
name = default
default = yes
""")

from swift.common.ring import RingBuilder  # noqa: E402
from swift.common.wsgi import SwiftHttpProtocol, loadapp  # noqa: E402


class Silent:
    def write(self, text):
        pass


class NoCache:
    """Replaces memcached, which the S3 API requires."""

    def get(self, key, **options):
        return None

    def set(self, key, value, **options):
        pass

    def delete(self, key, **options):
        pass


def serve(listener, conf):
    app = loadapp(conf, global_conf={'log_name': 'swift'})

    def with_cache(environ, start_response):
        environ['swift.cache'] = NoCache()
        return app(environ, start_response)

    eventlet.spawn(
        wsgi.server, listener, with_cache, Silent(), protocol=SwiftHttpProtocol,
        # the AWS SDK reads "ETag", not "Etag"
        capitalize_response_headers=False, socket_timeout=60)


os.makedirs(os.path.join(directory, 'node', 'disk'))
# tempauth calls its users user_<account>_<user>, and their access keys are <account>:<user>
account, user = access_key.split(':')
for name, application in ('account', 'account'), ('container', 'container'), ('object', 'mem_object'):
    listener = eventlet.listen(('127.0.0.1', 0))
    ring = RingBuilder(1, 1, 1)
    ring.add_dev({
        'id': 0, 'region': 1, 'zone': 1, 'weight': 1, 'device': 'disk',
        'ip': '127.0.0.1', 'port': listener.getsockname()[1]})
    ring.rebalance()
    ring.get_ring().save(os.path.join(directory, name + '.ring.gz'))
    serve(listener, write(name + '.conf', f"""
[DEFAULT]
swift_dir = {directory}
devices = {directory}/node
mount_check = false
fallocate_reserve = 0
[pipeline:main]
pipeline = server
[app:server]
use = egg:swift#{application}
"""))

front = eventlet.listen(('127.0.0.1', 0))
serve(front, write('proxy.conf', f"""
[DEFAULT]
swift_dir = {directory}
[pipeline:main]
pipeline = catch_errors s3api tempauth slo proxy-server
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:s3api]
use = egg:swift#s3api
max_upload_part_num = 10000
[filter:tempauth]
use = egg:swift#tempauth
user_{account}_{user} = {secret_key} .admin
[filter:slo]
use = egg:swift#slo
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
"""))
print(front.getsockname()[1], flush=True)
eventlet.event.Event().wait()
