import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describeGuide, Guide, StandaloneService, TestJudge } from '#testing';

const PROVIDER = 'examples/model-gateway/fake-provider.mjs';
const PRICE = { input_usd_per_million: 1, output_usd_per_million: 1 };

/** All pages with commands. */
const PAGES = [
  'README.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' }).map((file) => path.join('docs', file)),
]
  .filter((file) => file.endsWith('.md') && /^```sh\n/m.test(readFileSync(file, 'utf8')))
  .sort();

/** One reader pastes the blocks of all pages, in the same workspace. */
describeGuide('the pages', () => {
  let judge: TestJudge;
  let service: StandaloneService;
  let provider: ReturnType<typeof spawn>;
  let providerAddress: string;

  beforeAll(async () => {
    judge = await TestJudge.listen();
    judge.reply = ({ prompt }) => ({
      content: JSON.stringify({ reasoning: 'compared', value: !prompt.includes('Sydney') }),
    });
    provider = spawn(process.execPath, [PROVIDER], {
      env: { ...process.env, FAKE_PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [printed] = (await once(provider.stdout!, 'data')) as [Buffer];
    providerAddress = `127.0.0.1:${/127\.0\.0\.1:(\d+)/.exec(String(printed))![1]}`;
    service = await StandaloneService.start({
      env: {
        ...judge.env,
        MODEL_PRICES: JSON.stringify({ 'judge-1': PRICE }),
        OUTBOUND_ALLOW: '127.0.0.1/32',
      },
    });
  }, 60_000);
  afterAll(async () => {
    provider.kill();
    await service.stop();
    await judge.close();
  });

  it.each(PAGES)(
    '%s runs as written, and prints its samples',
    async (page) => {
      const guide = Guide.open(page, service, {
        replacements: { '127.0.0.1:9100': providerAddress },
        workspaceId: service.bootstrap.workspace_id,
      });
      try {
        await guide.runBlocks();
      } finally {
        guide.close();
      }
    },
    180_000,
  );
});
