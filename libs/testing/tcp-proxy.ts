import net from 'node:net';

/** PostgreSQL's message `ReadyForQuery`, outside a transaction. */
const READY = Buffer.from('5a0000000549', 'hex');
/** PostgreSQL's `ErrorResponse` from a server that is shutting down. */
const SHUTTING_DOWN = errorResponse('SFATAL', 'VFATAL', 'C57P01', 'Mterminating connection');

/** A proxy that can cut the connections to a server, to test its clients. */
export class TcpProxy {
  private readonly sockets = new Set<net.Socket>();
  private open = true;
  private ending = false;
  private ended = 0;

  private constructor(
    private readonly server: net.Server,
    /** The URL of the server through this proxy. */
    readonly url: string,
  ) {}

  /** @param target the URL of the server, such as a `DATABASE_URL` */
  static async to(target: string): Promise<TcpProxy> {
    const { hostname, port } = new URL(target);
    const server = net.createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = new URL(target);
    url.hostname = '127.0.0.1';
    url.port = String((server.address() as net.AddressInfo).port);
    const proxy = new TcpProxy(server, url.toString());
    server.on('connection', (socket) => {
      if (proxy.open) proxy.join(socket, net.connect(Number(port), hostname));
      else socket.destroy();
    });
    return proxy;
  }

  /** Breaks all connections, and refuses new ones. */
  cut(): void {
    this.open = false;
    for (const socket of this.sockets) socket.destroy();
  }

  /**
   * From now on, ends each connection to PostgreSQL as soon as it is ready, like a server that is shutting down: the client
   * receives in one packet that the connection is ready and that it has ended.
   */
  endWhenReady(): void {
    this.open = true;
    this.ending = true;
  }

  /** Number of connections that were ended that way. */
  get endedCount(): number {
    return this.ended;
  }

  /** Lets connections through again. */
  restore(): void {
    this.open = true;
    this.ending = false;
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private join(one: net.Socket, other: net.Socket): void {
    for (const [from, to] of [
      [one, other],
      [other, one],
    ] as const) {
      this.sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
    }
    one.pipe(other);
    other.on('data', (packet: Buffer) => {
      if (this.ending && packet.subarray(-READY.length).equals(READY)) {
        this.ended++;
        one.end(Buffer.concat([packet, SHUTTING_DOWN]));
      } else if (!one.write(packet)) {
        other.pause();
        one.once('drain', () => other.resume());
      }
    });
    other.on('end', () => one.end());
  }
}

function errorResponse(...fields: string[]): Buffer {
  const body = Buffer.from(`${fields.map((field) => `${field}\0`).join('')}\0`);
  const head = Buffer.from([0x45, 0, 0, 0, body.length + 4]);
  return Buffer.concat([head, body]);
}
