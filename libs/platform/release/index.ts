import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The release of the service that this process runs, such as `0.2.0`: the version in `package.json`. */
export const RELEASE = (
  JSON.parse(readFileSync(path.resolve(__dirname, '../../../../package.json'), 'utf8')) as { version: string }
).version;
