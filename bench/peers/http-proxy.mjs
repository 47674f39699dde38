// The package `http-proxy` in front of the upstream in the first argument. It opens a connection for each request, unless the
// second argument is `keep-alive`. This is JavaScript, because its package is in bench/peers/package.json, which only the
// benchmarks install.
import http from 'node:http';
import httpProxy from 'http-proxy';

const [, , target, connections] = process.argv;
const agent = connections === 'keep-alive' ? { agent: new http.Agent({ keepAlive: true }) } : {};
const proxy = httpProxy.createProxyServer({ target, xfwd: true, ...agent });
proxy.on('error', (_error, _request, response) => response.destroy());
const server = http.createServer((request, response) => proxy.web(request, response));
server.listen(0, '127.0.0.1', () => process.send?.(server.address().port));
