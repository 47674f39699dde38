import { type LookupAddress, promises as dns } from 'node:dns';
import { readFile } from 'node:fs/promises';
import { FairLimiter } from '#platform/concurrency';

/** Default time for the name servers to resolve a name, in milliseconds. */
const RESOLVE_MS = 4_000;
/** Milliseconds that a local name may wait for its turn. */
const LOCAL_WAIT_MS = 10_000;

/** Returns the addresses of a host name. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/** Settings that differ from the system's own. */
export interface ResolverOptions {
  /** Name servers to use instead of those in `/etc/resolv.conf`. */
  servers?: readonly string[];
  hostsFile?: string;
  /** Milliseconds for the name servers to resolve a name. Default: 4 seconds. */
  timeoutMs?: number;
}

/**
 * Returns a function that resolves names. Tenants choose names, and therefore name servers, which may never respond. A name
 * with a dot is resolved with DNS queries, not with `getaddrinfo`, which cannot be aborted and would block one of the threads
 * that Node also needs for files. Names without a dot and names in the hosts file, whose resolution no tenant can delay, are
 * resolved by the system.
 */
export function systemResolver(options: ResolverOptions = {}): Resolve {
  const { servers, hostsFile = '/etc/hosts', timeoutMs = RESOLVE_MS } = options;
  const local = new FairLimiter({ share: 1, concurrency: 2, maxWaitMs: LOCAL_WAIT_MS });
  return async (hostname) => {
    const name = hostname.toLowerCase();
    if (name.includes('.') && !(await hostNames(hostsFile)).has(name)) {
      return query(hostname, timeoutMs, servers);
    }
    return local.run(name, undefined, () => dns.lookup(hostname, { all: true }));
  };
}

async function hostNames(path: string): Promise<ReadonlySet<string>> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const lines = text.toLowerCase().split('\n');
  return new Set(lines.flatMap((line) => line.replace(/#.*/, '').trim().split(/\s+/).slice(1)));
}

/** Queries name servers for both kinds of addresses. A new resolver can be cancelled, and reads the current settings. */
async function query(
  hostname: string,
  timeoutMs: number,
  servers?: readonly string[],
): Promise<LookupAddress[]> {
  const resolver = new dns.Resolver({ timeout: timeoutMs / 4, tries: 2 });
  if (servers) resolver.setServers(servers);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    resolver.cancel();
  }, timeoutMs);
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  clearTimeout(timer);
  const addresses = answers.flatMap((answer, index) =>
    answer.status === 'rejected'
      ? []
      : answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })),
  );
  if (addresses.length > 0) return addresses;
  const codes = answers.map((answer) => (answer.status === 'rejected' ? codeOf(answer.reason) : ''));
  const code = isLate || codes.includes('ETIMEOUT') ? 'ETIMEDOUT' : 'ENOTFOUND';
  throw Object.assign(new Error(`${hostname} cannot be resolved.`), { code });
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;
