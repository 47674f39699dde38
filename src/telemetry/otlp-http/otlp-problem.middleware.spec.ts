import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { PROBLEM_WRITER, type ProblemWriter } from '#platform/http';
import { Problem } from '#platform/problem';
import { otlpProblems } from './otlp-problem.middleware';

/** What a server answers that refuses every export with this problem. */
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

describe.each(['application/x-protobuf', 'application/json'])('to an exporter of %s', (media) => {
  it.each(['rate_limited', 'service_overloaded', 'auth_unavailable'] as const)(
    'a refusal that passes (%s) says when to try again, even where nobody thought of it',
    async (code) => {
      const answer = await refuse(new Problem(code, 'Later.'), media);
      expect(answer.headers.get('retry-after')).toBe('1');
    },
  );

  it('the time that the refusal itself names is kept', async () => {
    const later = new Problem('rate_limited', 'Later.', { headers: { 'Retry-After': '17' } });
    expect((await refuse(later, media)).headers.get('retry-after')).toBe('17');
  });

  it('a refusal for good does not ask for another attempt', async () => {
    const answer = await refuse(new Problem('access_denied', 'No.'), media);
    expect(answer.headers.get('retry-after')).toBeNull();
  });
});
