import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { PROBLEM_WRITER, type ProblemWriter } from '#platform/http';
import { Problem } from '#platform/problem';
import { otlpProblems } from './otlp-problem.middleware';

/** Returns the response of a server that rejects every export with this problem. */
async function refuse(problem: Problem, media: string): Promise<Response> {
  const app = express();
  app.use(otlpProblems, (_request, response) => {
    for (const [name, value] of Object.entries(problem.headers)) response.setHeader(name, value);
    const write = response.locals[PROBLEM_WRITER] as ProblemWriter;
    write(response.status(problem.status), problem.toBody(null));
  });
  const server = http.createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    return await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers: { 'content-type': media } });
  } finally {
    server.close();
  }
}

describe.each(['application/x-protobuf', 'application/json'])('the error of an export as %s', (media) => {
  it.each(['rate_limited', 'service_overloaded', 'auth_unavailable'] as const)(
    'has a default Retry-After if it is temporary (%s)',
    async (code) => {
      const answer = await refuse(new Problem(code, 'Later.'), media);
      expect(answer.headers.get('retry-after')).toBe('1');
    },
  );

  it('keeps the Retry-After of the problem', async () => {
    const later = new Problem('rate_limited', 'Later.', { headers: { 'Retry-After': '17' } });
    expect((await refuse(later, media)).headers.get('retry-after')).toBe('17');
  });

  it('has no Retry-After if it is permanent', async () => {
    const answer = await refuse(new Problem('access_denied', 'No.'), media);
    expect(answer.headers.get('retry-after')).toBeNull();
  });
});
