import { describeGuide, Guide, StandaloneService, TestJudge } from '#testing';

/** What the reader sees of a block, as values. */
const lines = (printed: string): unknown[] =>
  printed
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));

const PRICE = { input_usd_per_million: 1, output_usd_per_million: 1 };

/** One reader follows all of them, one after the other, in the same workspace. */
describeGuide('the guides to scores of traces', () => {
  let judge: TestJudge;
  let service: StandaloneService;

  beforeAll(async () => {
    judge = await TestJudge.listen();
    judge.reply = ({ prompt }) => ({
      content: JSON.stringify({ reasoning: 'compared', value: !prompt.includes('Sydney') }),
    });
    service = await StandaloneService.start({
      env: { ...judge.env, MODEL_PRICES: JSON.stringify({ 'judge-1': PRICE }) },
    });
  }, 60_000);
  afterAll(async () => {
    await service.stop();
    await judge.close();
  });
  const follow = async (name: string, steps: (guide: Guide) => Promise<void>): Promise<void> => {
    const guide = Guide.open(`docs/guides/${name}.md`, service);
    try {
      await steps(guide);
    } finally {
      guide.close();
    }
  };

  it(
    'judge-production-traces.md judges stored and new traces, and shows the trend and the worst answer',
    () =>
      follow('judge-production-traces', async (guide) => {
        await guide.next(4);
        expect(lines(await guide.next())).toEqual([[expect.any(String), expect.any(Number), 'compared']]);
        expect(lines(await guide.next())).toEqual([[expect.any(String), true]]);
        expect(lines(await guide.next())).toEqual([['succeeded', 4, 0, expect.any(Number)]]);
        const day = new Date(Date.now() - 3_600_000).toISOString().slice(0, 10);
        expect(lines(await guide.next())).toEqual([
          [day, '1.0', 0.5, 2],
          [day, '2.0', 1, 2],
        ]);
        const worst = lines(await guide.next());
        expect(worst).toHaveLength(3);
        expect(worst[0]).toEqual([0, '0'.repeat(31) + '1']);
      }),
    120_000,
  );

  it(
    'datasets-from-traces.md makes cases of the three worst traces, which the next experiment answers better',
    () =>
      follow('datasets-from-traces', async (guide) => {
        await guide.next(4);
        expect(lines(await guide.next())).toEqual([
          [201, 'What is the capital of Australia?'],
          [201, 'What is the capital of Canada?'],
          [201, 'What is the capital of Brazil?'],
        ]);
        expect(lines(await guide.next())).toMatchObject([{ updated_count: 3 }]);
        expect(JSON.parse(await guide.next())).toEqual({ exact: { mean: 2 / 3, count: 3 } });
      }),
    120_000,
  );

  it(
    'annotate.md has two people score the same traces, and measures the judge against them',
    () =>
      follow('annotate', async (guide) => {
        const worked = (await guide.next(6)).trim().split('\n');
        expect(worked.slice(0, 3)).toEqual([
          'Is the answer right?',
          'What is the capital of Turkey?',
          'Istanbul',
        ]);
        expect([worked.length, worked[12], worked.at(-1)]).toEqual([26, 'done', 'completed']);
        expect(lines(await guide.next())).toEqual([[4, 1]]);
        await guide.next();
        expect(lines(await guide.next())).toEqual([
          [4, 0.75, 0.5],
          [
            [1, 0],
            [1, 2],
          ],
        ]);
      }),
    120_000,
  );

  it(
    'collect-feedback.md records thumbs by a key of role runtime, which a gate does not see',
    () =>
      follow('collect-feedback', async (guide) => {
        await guide.next(4);
        expect(lines(await guide.next())).toEqual([[expect.any(String), 'user-1', 'The link is dead.']]);
        const today = new Date().toISOString().slice(0, 10);
        expect(lines(await guide.next())).toEqual([[today, 2 / 3, 3]]);
        // a result with the rated trace and a score of the same name, which a user cannot make worse
        const gate = await guide.runInShell(`
        RUN=$(api -H "$WS" $EVAL/experiments -d '{"workspace_id": "'$WORKSPACE'", "name": "gate"}' | jq -r .experiment_id)
        api -H "$WS" $EVAL/experiments/$RUN/results -d '{"workspace_id": "'$WORKSPACE'", "case_id": "c1", "trace_id": "'$TRACE'",
          "scores": {"thumbs": 1}}' > /dev/null
        api -H "$WS" -X PATCH $EVAL/experiments/$RUN -d '{"experiment_status": "completed"}' > /dev/null
        node --input-type=module -e "import { sendThumb } from './feedback.mjs';
          await sendThumb({ traceId: process.env.TRACE, userId: 'user-4', isHelpful: false });"
        api -H "$WS" $EVAL/experiments/$RUN/gate -d '{"rules": [{"scorer": "thumbs", "min_mean": 1}]}' | jq -c .passed`);
        expect(gate.trim()).toBe('true');
      }),
    120_000,
  );
});
