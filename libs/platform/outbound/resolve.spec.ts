import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { outboundFailure } from './outbound-errors';
import { type Resolve, systemResolver } from './resolve';

const A = 1;
const AAAA = 28;
const ADDRESSES: Record<number, Buffer> = {
  [A]: Buffer.from([192, 0, 2, 7]),
  [AAAA]: Buffer.from('20010db8000000000000000000000007', 'hex'),
};

/** A name server whose answer depends on the first label: `hang`, `none`, `v4` (none for IPv6), or both addresses. */
class FakeNameServer {
  readonly queries: string[] = [];

  private constructor(private readonly socket: Socket) {
    socket.on('message', (query, { port, address }) => {
      const end = query.indexOf(0, 12);
      const name = nameIn(query.subarray(12, end));
      const type = query.readUInt16BE(end + 1);
      this.queries.push(name);
      const kind = name.split(/[.\d]/)[0]!;
      if (kind === 'hang' || (name.startsWith('v4.') && type === AAAA)) return;
      socket.send(
        answerTo(query.subarray(0, end + 5), kind === 'none' ? undefined : ADDRESSES[type]),
        port,
        address,
      );
    });
  }

  static async start(): Promise<FakeNameServer> {
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return new FakeNameServer(socket);
  }

  get address(): string {
    return `127.0.0.1:${this.socket.address().port}`;
  }

  async close(): Promise<void> {
    this.socket.close();
    await once(this.socket, 'close');
  }
}

function nameIn(labels: Buffer): string {
  const nameLabels: string[] = [];
  for (let at = 0; at < labels.length; at += labels[at]! + 1) {
    nameLabels.push(labels.toString('latin1', at + 1, at + 1 + labels[at]!));
  }
  return nameLabels.join('.').toLowerCase();
}

function answerTo(question: Buffer, address: Buffer | undefined): Buffer {
  const header = Buffer.from(question);
  header.writeUInt16BE(address ? 0x8180 : 0x8183, 2);
  header.writeUInt16BE(address ? 1 : 0, 6);
  header.writeUInt32BE(0, 8);
  if (!address) return header;
  const record = Buffer.alloc(12);
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(address.length === 4 ? A : AAAA, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt16BE(address.length, 10);
  return Buffer.concat([header, record, address]);
}

describe('systemResolver', () => {
  let server: FakeNameServer;
  let resolve: Resolve;
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'hosts-'));
    const hostsFile = join(directory, 'hosts');
    await writeFile(
      hostsFile,
      '# 127.0.0.1 both.comment.example\n127.0.0.1\tlocalhost.localdomain  Mapped.localhost # x\n',
    );
    server = await FakeNameServer.start();
    resolve = systemResolver({ servers: [server.address], hostsFile, timeoutMs: 800 });
  });
  afterEach(async () => {
    await server.close();
    await rm(directory, { recursive: true });
  });
  const failureOf = async (name: string) =>
    resolve(name).then(String, (error: unknown) => outboundFailure(error));

  it('returns the addresses of both kinds', async () => {
    expect(await resolve('mcp.tools.svc.cluster.local')).toEqual([
      { address: '192.0.2.7', family: 4 },
      { address: '2001:db8::7', family: 6 },
    ]);
  });

  it('returns the addresses of one kind if the name server does not answer for the other kind', async () => {
    expect(await resolve('v4.example.com')).toEqual([{ address: '192.0.2.7', family: 4 }]);
  });

  it('resolves a name without delay while the name servers of other names hang', async () => {
    const ended: string[] = [];
    const ends = (name: string) => failureOf(name).then((failure) => ended.push(`${name} ${failure}`));
    const hanging = Array.from({ length: 10 }, (_, i) => ends(`hang${i}.example`));
    while (new Set(server.queries).size < 10) await new Promise(setImmediate);
    expect(await resolve('www.other.example')).toHaveLength(2);
    // Node's threads are free
    expect(await resolve('localhost')).not.toHaveLength(0);
    expect(ended).toEqual([]);
    await Promise.all(hanging);
    expect(ended.sort()).toEqual(hanging.map((_, i) => `hang${i}.example timeout`));
  });

  it('reports that a name does not exist', async () => {
    expect(await failureOf('none.example.com')).toBe('unreachable');
  });

  it.each(['localhost', 'LOCALHOST'])('resolves %s without DNS', async (name) => {
    expect((await resolve(name)).map(({ address }) => address)).toContain('127.0.0.1');
    expect(server.queries).toEqual([]);
  });

  it('leaves names of the hosts file to the system, and no others', async () => {
    await resolve('mapped.LOCALHOST').catch(() => undefined);
    expect(server.queries).toEqual([]);
    await resolve('both.comment.example');
    expect(server.queries).toContain('both.comment.example');
  });
});
