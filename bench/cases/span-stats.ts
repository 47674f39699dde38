import type { Bench } from '../bench';
import { compare, timed } from '../measure';

const SPANS = 1_000_000;
const SPANS_OF_TRACE = 25;
const MESSAGES = 1_000;
/** Messages that a call of the transcript's session adds: a question and an answer. */
const MESSAGES_OF_CALL = 2;
const CALLS_OF_TRACE = 50;

/** Fills the workspace with a million spans of the last ten days, every second one a call of one of five models by 1,000 users. */
async function fill({ direct, scope }: Bench): Promise<void> {
  const traces = SPANS / SPANS_OF_TRACE;
  await direct.query(
    `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, input_tokens,
                         output_tokens, cost_usd, models, root_name, service_name, user_id)
     SELECT $1, '5' || lpad(to_hex(n), 31, '0'), now() - n * interval '20 second', now() - n * interval '20 second' + interval '9 second',
            ${SPANS_OF_TRACE}, (n % 10 = 0)::int, 12000, 1200, 0.12,
            ARRAY(SELECT 'model ' || i FROM generate_series(0, 4) i), 'answer', 'shop', 'user ' || n % 1000
     FROM generate_series(1, $2::int) n`,
    [scope.workspaceId, traces],
  );
  await direct.query(
    `INSERT INTO spans (workspace_id, day, trace_no, span_id, parent_span_id, started_at, ended_at, input_tokens, output_tokens,
                        cost_usd, time_to_first_token_ms, source_id, name, kind, status_code, operation, provider, model, attributes)
     SELECT t.workspace_id, t.day, t.trace_no, i, CASE WHEN i > 1 THEN 1 END, t.started_at + i * interval '10 millisecond',
            t.started_at + i * interval '10 millisecond' + (t.trace_no * 7919 % 10007) * interval '1 millisecond',
            CASE WHEN i % 2 = 0 THEN 1000 END, CASE WHEN i % 2 = 0 THEN 100 END, CASE WHEN i % 2 = 0 THEN 0.01 END,
            CASE WHEN i % 2 = 0 THEN t.trace_no % 997 END, '00000000-0000-0000-0000-000000000000', 'chat', 'client',
            CASE WHEN i = 2 AND t.error_count > 0 THEN 'error' ELSE 'unset' END, CASE WHEN i % 2 = 0 THEN 'chat' END, 'openai',
            CASE WHEN i % 2 = 0 THEN 'model ' || i % 5 END,
            json_build_object('gen_ai.input.messages', repeat('what is it? ', 30), 'http.route', '/' || i)
     FROM traces t, generate_series(1, ${SPANS_OF_TRACE}) i WHERE t.workspace_id = $1 AND t.trace_id LIKE '5%'`,
    [scope.workspaceId],
  );
  await direct.query('VACUUM (ANALYZE) traces, spans');
}

/**
 * Computes statistics over a million spans, in milliseconds, compared with a plain statement. Reports the growth of the service's
 * process and of PostgreSQL's private memory during the first query.
 */
export async function spanStats(bench: Bench): Promise<void> {
  await fill(bench);
  const { direct, http, scope } = bench;
  const since = new Date(Date.now() - 30 * 86_400_000).toISOString();
  const plain = `SELECT model, count(*), percentile_cont(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM ended_at - started_at)),
      sum(input_tokens), sum(output_tokens), sum(cost_usd) FROM spans WHERE workspace_id = $1 GROUP BY model`;
  for (const group_by of [['model'], ['user_id']]) {
    const body = JSON.stringify({ since, group_by });
    const query = () => http.send('POST', '/telemetry/v1/spans/stats/query', 200, body);
    const [memory, ofDatabase] = [bench.watchMemory(), bench.watchMemory(() => bench.databaseMemory())];
    await query();
    const [grown, grownDatabase] = (await Promise.all([memory.stop(), ofDatabase.stop()])).map(mebibytes);
    bench.line(
      `statistics of ${SPANS} spans by ${group_by.join()}: the process grew by ${grown} MiB, PostgreSQL's by ${grownDatabase} MiB`,
    );
    const result = await compare([
      { name: 'direct', measure: () => timed(() => direct.query(plain, [scope.workspaceId])) },
      { name: 'service', measure: () => timed(query) },
    ]);
    bench.report(`statistics of ${SPANS} spans by ${group_by.join()}`, 'ms', result);
  }
}

const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20);

/** Reads a session of 1,000 messages, whose calls repeat all messages before, in milliseconds. */
export async function transcript(bench: Bench): Promise<void> {
  const { http, scope } = bench;
  const calls = MESSAGES / MESSAGES_OF_CALL;
  const history: object[] = [];
  const start = BigInt(Date.now()) * 1_000_000n;
  const hex = (n: number, length: number): string => n.toString(16).padStart(length, '0');
  for (let trace = 0; trace < calls / CALLS_OF_TRACE; trace++) {
    const spans = Array.from({ length: CALLS_OF_TRACE }, (_, at) => {
      const n = trace * CALLS_OF_TRACE + at;
      history.push({ role: 'user', content: `question ${n} ${'?'.repeat(100)}` });
      const answer = { role: 'assistant', content: `answer ${n} ${'!'.repeat(100)}` };
      const text = (key: string, value: string) => ({ key, value: { stringValue: value } });
      const span = {
        traceId: hex(trace + 1, 32),
        spanId: hex(n + 1, 16),
        name: 'chat',
        startTimeUnixNano: String(start + BigInt(n) * 10_000_000n),
        endTimeUnixNano: String(start + BigInt(n) * 10_000_000n + 5_000_000n),
        attributes: [
          text('session.id', 'bench-transcript'),
          text('gen_ai.operation.name', 'chat'),
          text('gen_ai.input.messages', JSON.stringify(history)),
          text('gen_ai.output.messages', JSON.stringify([answer])),
        ],
      };
      history.push(answer);
      return span;
    });
    await http.send(
      'POST',
      '/telemetry/v1/traces',
      200,
      JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }),
    );
  }
  const path = '/telemetry/v1/sessions/bench-transcript/transcript?limit=500';
  const read = async (): Promise<void> => {
    let cursor: string | null = null;
    do {
      const page: { page: { next_cursor: string | null } } = await http.json(
        'GET',
        cursor ? `${path}&cursor=${cursor}` : path,
        200,
      );
      cursor = page.page.next_cursor;
    } while (cursor !== null);
  };
  const statement = `SELECT s.attributes FROM traces t JOIN spans s ON s.day = t.day AND s.trace_no = t.trace_no
    WHERE t.workspace_id = $1 AND t.session_id = 'bench-transcript' ORDER BY s.started_at`;
  const memory = bench.watchMemory();
  const result = await compare([
    {
      name: 'direct',
      measure: () => timed(() => bench.direct.query(statement, [scope.workspaceId])),
    },
    { name: 'service', measure: () => timed(read) },
  ]);
  bench.report(`transcript of ${MESSAGES} messages, compared with reading its spans`, 'ms', result);
  bench.line(`  the process grew by ${mebibytes(await memory.stop())} MiB`);
}
