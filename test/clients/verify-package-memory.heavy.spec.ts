import { FILES, manifestOf, packageOf, run } from './verify-package.fixture';

describe('verify-package', () => {
  it('uses little memory for a large package', async () => {
    const content = Buffer.alloc(256 * 1024 * 1024);
    const big = { path: 'agents/clerk/big.bin', content };
    const script = `let most = 0;
      setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 10).unref();
      process.on('exit', () => console.error('rss', most));`;
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` };
    const archive = await packageOf(manifestOf([...FILES, big]), [...FILES, big]);
    const { errors } = run({ 'p.tar.gz': archive }, ['p.tar.gz'], env);
    expect(errors).toContain('has files with the digest'); // read to the end
    expect(Number(/rss (\d+)/.exec(errors)?.[1])).toBeLessThan(160 * 1024 * 1024);
  });
});
