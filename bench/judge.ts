import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** A judge and a classifier that respond to every request after a fixed time. */
export class BenchJudge {
  /** Milliseconds from a request to its response. */
  delayMs = 0;

  private constructor(private readonly server: http.Server) {
    server.keepAliveTimeout = 60_000;
    server.on('request', (request, response) => {
      request.resume();
      request.once('end', () => {
        if (this.delayMs === 0) respond(request.url!, response);
        else setTimeout(() => respond(request.url!, response), this.delayMs);
      });
    });
  }

  static async listen(): Promise<BenchJudge> {
    const server = http.createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new BenchJudge(server);
  }

  /** Environment variables of a service that uses this judge and classifier. */
  get env(): Record<string, string> {
    const base = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return {
      JUDGE_BASE_URL: `${base}/v1`,
      JUDGE_MODEL: 'bench',
      MODEL_PRICES: JSON.stringify({ bench: { input_usd_per_million: 1, output_usd_per_million: 1 } }),
      CLASSIFIER_BASE_URL: `${base}/classify`,
    };
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

const JUDGEMENT = JSON.stringify({
  model: 'bench',
  choices: [
    {
      index: 0,
      finish_reason: 'stop',
      message: { role: 'assistant', content: '{"reasoning":"because","value":true}' },
    },
  ],
  usage: { prompt_tokens: 200, completion_tokens: 10 },
});
const LABELS = JSON.stringify([
  { label: 'yes', score: 0.75 },
  { label: 'no', score: 0.25 },
]);

function respond(url: string, response: http.ServerResponse): void {
  response.setHeader('content-type', 'application/json');
  response.end(url.startsWith('/classify') ? LABELS : JUDGEMENT);
}
