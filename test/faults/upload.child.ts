/**
 * A typical client of an evaluation. It creates or resumes an experiment, lists the completed cases, uploads the results of
 * the other cases in bulk with several concurrent calls, and finalizes the experiment. Tests kill it and start it again.
 *
 * Environment: `BASE_URL`, `TOKEN`, `WORKSPACE_ID`, `CASES` (their number), and optionally `STOP_AT`: the number of cases,
 * including the cases of earlier processes, after which it sends no more and waits to be killed.
 */
const { BASE_URL = '', TOKEN = '', WORKSPACE_ID = '', CASES = '0', STOP_AT = 'Infinity' } = process.env;
const PER_CALL = 10;
const CALLS_AT_ONCE = 4;
const STOPPED_MS = 1_000_000;

interface Page {
  items: { case_id: string }[];
  page: { next_cursor: string | null };
}

async function call<Body>(method: string, path: string, expected: number[], body?: object): Promise<Body> {
  const response = await fetch(BASE_URL + path, {
    method,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      'x-service-workspace-id': WORKSPACE_ID,
      'content-type': 'application/json',
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!expected.includes(response.status)) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text) as Body;
}

async function completedCases(experiment: string): Promise<Set<string>> {
  const done = new Set<string>();
  let cursor: string | null = '';
  while (cursor !== null) {
    const query: string = `?limit=500${cursor && `&cursor=${cursor}`}`;
    const { items, page }: Page = await call<Page>('GET', `${experiment}/results${query}`, [200]);
    for (const { case_id } of items) done.add(case_id);
    cursor = page.next_cursor;
  }
  return done;
}

async function upload(experiment: string, cases: string[]): Promise<void> {
  const worker = async (): Promise<void> => {
    for (let items = cases.splice(0, PER_CALL); items.length > 0; items = cases.splice(0, PER_CALL)) {
      while (Number(CASES) - cases.length > Number(STOP_AT)) {
        await new Promise((resolve) => setTimeout(resolve, STOPPED_MS));
      }
      const results = items.map((case_id) => ({ case_id, output: { case_id }, scores: { s: 1 } }));
      const outcome = await call<{ items: { status_code: number }[] }>(
        'POST',
        `${experiment}/results/bulk`,
        [207],
        { workspace_id: WORKSPACE_ID, items: results },
      );
      // 409: a call that was in flight when the client was killed still arrived
      const wrong = outcome.items.find(({ status_code }) => status_code !== 201 && status_code !== 409);
      if (wrong) throw new Error(JSON.stringify(wrong));
    }
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, worker));
}

async function main(): Promise<void> {
  const { experiment_id } = await call<{ experiment_id: string }>(
    'POST',
    '/eval/v1/experiments',
    [200, 201],
    {
      workspace_id: WORKSPACE_ID,
      name: 'nightly',
      resume: true,
    },
  );
  const experiment = `/eval/v1/experiments/${experiment_id}`;
  const done = await completedCases(experiment);
  const all = Array.from({ length: Number(CASES) }, (_, n) => `case ${n}`);
  await upload(
    experiment,
    all.filter((id) => !done.has(id)),
  );
  await call('PATCH', experiment, [200], { experiment_status: 'completed', metrics: { cases: all.length } });
}

main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = 1;
});
