import http from 'node:http';
import type { AddressInfo } from 'node:net';
import httpProxy from 'http-proxy';

/** The package `http-proxy` in front of the upstream in the arguments, with connections kept open, as its users run it. */
const agent = new http.Agent({ keepAlive: true });
const proxy = httpProxy.createProxyServer({ target: process.argv[2], agent, xfwd: true });
proxy.on('error', (_error, _request, response) => response.destroy());
const server = http.createServer((request, response) => proxy.web(request, response));
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
