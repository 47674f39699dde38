import net from 'node:net';

/** A way to a server that can be cut, to see what becomes of those who use it. */
export class TcpProxy {
  private readonly sockets = new Set<net.Socket>();
  private open = true;

  private constructor(
    private readonly server: net.Server,
    /** The address given, by way of this proxy. */
    readonly url: string,
  ) {}

  /** @param target the URL of the server, such as a `DATABASE_URL`. */
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

  /** Lets connections through again. */
  restore(): void {
    this.open = true;
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
      from.pipe(to);
    }
  }
}
