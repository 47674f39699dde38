import http from 'node:http';
import type { AddressInfo } from 'node:net';
import httpProxy from 'http-proxy';

/**
 * The package `http-proxy` in front of the upstream in the first argument. It opens a connection for each request, unless
 * the second argument is `keep-alive`.
 */
const [, , target, connections] = process.argv;
const agent = connections === 'keep-alive' ? { agent: new http.Agent({ keepAlive: true }) } : {};
const proxy = httpProxy.createProxyServer({ target, xfwd: true, ...agent });
proxy.on('error', (_error, _request, response) => response.destroy());
const server = http.createServer((request, response) => proxy.web(request, response));
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
