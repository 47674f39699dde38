import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describeGuide, Guide, StandaloneService } from '#testing';

const PAGE = 'docs/guides/call-models-and-apis.md';
const PROVIDER = 'examples/model-gateway/fake-provider.mjs';

/** The output that the page documents for its commands, in order. */
const PRINTED = [
  'gpt-4o-mini answers: Order 7 has shipped.',
  'streamed: Order 7 has shipped.',
  'shipped',
  '4.9991',
  '["assistant","gpt-4o-mini",2,0.0009]',
  '["chat assistant",1000,500,0.00045]',
  '0.0001',
  'insufficient_quota',
  '5',
  '99.9991',
  '["yes",0.00045]',
  '1',
];

describeGuide(PAGE, () => {
  it('runs as written, and prints the documented output', async () => {
    const provider = spawn(process.execPath, [PROVIDER], {
      env: { ...process.env, FAKE_PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const service = await StandaloneService.start({ env: { OUTBOUND_ALLOW: '127.0.0.1/32' } });
    try {
      const [address] = (await once(provider.stdout, 'data')) as [Buffer];
      const port = /port: (\d+)/.exec(String(address))![1]!;
      const guide = Guide.open(PAGE, service, { '127.0.0.1:9100': `127.0.0.1:${port}` });
      const printed = await guide.rest().finally(() => guide.close());
      const lines = printed
        .join('')
        .split('\n')
        .map((line) => line.trim());
      let from = 0;
      for (const expected of PRINTED) {
        const at = lines.indexOf(expected, from);
        expect({ expected, rest: lines.slice(from), isPrinted: at >= 0 }).toMatchObject({ isPrinted: true });
        from = at + 1;
      }
    } finally {
      provider.kill();
      await service.stop();
    }
  }, 180_000);
});
