import http from 'node:http';

export interface Received {
  status: number;
  body: Buffer;
}

/** A minimal keep-alive client, whose cost is small compared to the measured work. */
export class Http {
  private readonly agent: http.Agent;

  constructor(
    private readonly base: URL,
    private readonly headers: Record<string, string>,
    connections: number,
  ) {
    this.agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  }

  /** The port and headers, for cases that use their own client. */
  get target(): { port: number; headers: Record<string, string> } {
    return { port: Number(this.base.port), headers: this.headers };
  }

  /** Sends one request. Throws if the response does not have the status `expected`. */
  send(
    method: string,
    path: string,
    expected: number,
    body?: Buffer | string,
    type = 'application/json',
    headers: Record<string, string> = {},
  ): Promise<Received> {
    const bytes = body === undefined ? undefined : Buffer.from(body);
    return new Promise((resolve, reject) => {
      const request = http.request(
        {
          agent: this.agent,
          host: this.base.hostname,
          port: this.base.port,
          method,
          path,
          headers: {
            ...this.headers,
            ...headers,
            ...(bytes && { 'Content-Type': type, 'Content-Length': bytes.length }),
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () => {
            const status = response.statusCode ?? 0;
            const content = Buffer.concat(chunks);
            if (status === expected) resolve({ status, body: content });
            else reject(new Error(`${method} ${path}: ${status} ${content.toString().slice(0, 300)}`));
          });
          response.on('error', reject);
        },
      );
      request.on('error', reject);
      request.end(bytes);
    });
  }

  /** Reads a response to its end without keeping it. Returns its length in bytes. */
  download(path: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const { hostname: host, port } = this.base;
      const request = http.get({ agent: this.agent, host, port, path, headers: this.headers }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`GET ${path}: ${response.statusCode}`));
        let bytes = 0;
        response.on('data', (chunk: Buffer) => (bytes += chunk.length));
        response.on('end', () => resolve(bytes)).on('error', reject);
      });
      request.on('error', reject);
    });
  }

  async json<Body>(method: string, path: string, expected: number, body?: object): Promise<Body> {
    const { body: bytes } = await this.send(method, path, expected, body && JSON.stringify(body));
    return JSON.parse(bytes.toString()) as Body;
  }

  close(): void {
    this.agent.destroy();
  }
}
