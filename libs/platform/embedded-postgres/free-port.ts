import { type AddressInfo, createServer } from 'node:net';

/** Returns a free TCP port of 127.0.0.1. Another process may take it before its use, so be ready to retry. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}
