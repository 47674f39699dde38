import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** nginx (Debian's package), which serves a directory and stores PUT requests in it: one worker, `sendfile`, no log. */
export class Nginx {
  private constructor(
    readonly port: number,
    private readonly server: ChildProcess,
  ) {}

  /**
   * @param locations further directives of the server
   * @returns null if nginx is not installed
   */
  static async start(directory: string, locations = 'dav_methods PUT;'): Promise<Nginx | null> {
    const port = await freePort();
    const files = path.join(directory, 'files');
    await mkdir(files, { recursive: true });
    const config = path.join(directory, 'nginx.conf');
    await writeFile(config, configuration(directory, files, port, locations));
    const server = spawn('nginx', ['-c', config, '-g', 'daemon off;'], { stdio: 'ignore' });
    const missing = new Promise<boolean>((resolve) => server.once('error', () => resolve(true)));
    if (await Promise.race([missing, delay(500).then(() => false)])) return null;
    return new Nginx(port, server);
  }

  async stop(): Promise<void> {
    const stopped = new Promise((resolve) => this.server.once('exit', resolve));
    this.server.kill('SIGTERM');
    await stopped;
  }
}

const configuration = (directory: string, files: string, port: number, locations: string): string => `
worker_processes 1;
pid ${directory}/nginx.pid;
error_log ${directory}/error.log;
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 256; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000;
  client_max_body_size 0;
  client_body_temp_path ${directory}/bodies;
  proxy_temp_path ${directory}/p; fastcgi_temp_path ${directory}/f; uwsgi_temp_path ${directory}/u; scgi_temp_path ${directory}/s;
  server {
    listen 127.0.0.1:${port};
    root ${files};
    ${locations}
  }
}
`;

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
