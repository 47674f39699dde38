import { describeGuide, Guide, StandaloneService, TestJudge } from '#testing';

/** What the reader sees of a block, as values. */
const lines = (printed: string): unknown[] =>
  printed
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));

const PRICE = { input_usd_per_million: 1, output_usd_per_million: 1 };

describeGuide('docs/datasets-from-traces.md', () => {
  it('makes cases of the three worst traces, which the next experiment answers better', async () => {
    const service = await StandaloneService.start();
    const guide = Guide.open('docs/datasets-from-traces.md', service);
    try {
      await guide.next(3);
      expect(lines(await guide.next())).toEqual([
        [201, 'What is the capital of Australia?'],
        [201, 'What is the capital of Canada?'],
        [201, 'What is the capital of Brazil?'],
      ]);
      expect(await guide.next()).toContain('"updated_count":3');
      expect(lines(await guide.next())).toEqual([{ exact: { mean: 2 / 3, count: 3 } }]);
    } finally {
      guide.close();
      await service.stop();
    }
  }, 120_000);
});

describeGuide('docs/collect-feedback.md', () => {
  it('records thumbs by a key of role runtime, which a gate does not see', async () => {
    const service = await StandaloneService.start();
    const guide = Guide.open('docs/collect-feedback.md', service);
    try {
      await guide.next(3);
      expect(lines(await guide.next())).toEqual([[expect.any(String), 'user-1', 'The link is dead.']]);
      const today = new Date().toISOString().slice(0, 10);
      expect(lines(await guide.next())).toEqual([[today, 2 / 3, 3]]);
      // a result with the rated trace and a score of the same name, which a user cannot make worse
      const gate = await guide.runInShell(`
        RUN=$(api $EVAL/experiments -d '{"workspace_id": "'$WORKSPACE'", "name": "gate"}' | jq -r .experiment_id)
        api $EVAL/experiments/$RUN/results -d '{"workspace_id": "'$WORKSPACE'", "case_id": "c1", "trace_id": "'$TRACE'",
          "scores": {"thumbs": 1}}' > /dev/null
        api -X PATCH $EVAL/experiments/$RUN -d '{"experiment_status": "completed"}' > /dev/null
        node --input-type=module -e "import { sendThumb } from './feedback.mjs';
          await sendThumb({ traceId: process.env.TRACE, userId: 'user-4', isHelpful: false });"
        api $EVAL/experiments/$RUN/gate -d '{"rules": [{"scorer": "thumbs", "min_mean": 1}]}' | jq -c .passed`);
      expect(gate.trim()).toBe('true');
    } finally {
      guide.close();
      await service.stop();
    }
  }, 120_000);
});

describeGuide('docs/judge-production-traces.md', () => {
  it('judges what is there and what arrives, and shows the trend and the worst answer', async () => {
    const judge = await TestJudge.listen();
    judge.reply = ({ prompt }) => ({
      content: JSON.stringify({ reasoning: 'compared', value: !prompt.includes('Sydney') }),
    });
    const service = await StandaloneService.start({
      env: { ...judge.env, MODEL_PRICES: JSON.stringify({ 'judge-1': PRICE }) },
    });
    const guide = Guide.open('docs/judge-production-traces.md', service);
    try {
      await guide.next(3);
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
    } finally {
      guide.close();
      await service.stop();
      await judge.close();
    }
  }, 120_000);
});
