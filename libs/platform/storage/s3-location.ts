/** A bucket, or a part of a bucket. */
export interface S3Location {
  bucket: string;
  /** Empty, or ends with a slash. */
  prefix: string;
  /** Default: the region of the SDK's configuration, such as `AWS_REGION`. */
  region: string | undefined;
  /** The URL of a service other than AWS. */
  endpoint: string | undefined;
  /** Whether the bucket is in the path of each URL, and not in its host. */
  isPathStyle: boolean;
  /** Whether requests have checksums (CRC-32) where S3 supports them. Undefined: the SDK's configuration. */
  hasChecksums: boolean | undefined;
}

/** Rules of S3, which compatible services share, except for capital letters and underscores. */
const BUCKET = /^(?!.*\.\.)(?!\d+(?:\.\d+){3}$)[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/;

/** The endpoints of AWS, which knows checksums. Other services may reject them. */
const AWS = /^https?:\/\/[^/:]+\.amazonaws\.com(?:\.cn)?(?:[/:]|$)/;

const PARAMETERS: Record<string, { pattern: RegExp; rule: string }> = {
  region: { pattern: /^[\w-]{1,64}$/, rule: 'must be the name of a region' },
  endpoint: {
    pattern: /^https?:\/\/[^/?#@\s]+(\/[^?#@\s]*)?$/,
    rule: 'must be an http or https URL without credentials or query',
  },
  path_style: { pattern: /^(true|false)$/, rule: 'must be true or false' },
  checksums: { pattern: /^(true|false)$/, rule: 'must be true or false' },
};

/**
 * Parses `s3://<bucket>/<prefix>?region=…&endpoint=…&path_style=true&checksums=true`. Throws an Error that describes the fault but does not
 * repeat the URL, which may contain secrets by mistake.
 */
export function parseS3Url(url: string): S3Location {
  const { groups } = /^s3:\/\/(?<bucket>[^/?]*)(?:\/(?<prefix>[^?]*))?(?:\?(?<query>.*))?$/.exec(url) ?? {};
  const { bucket = '', prefix = '', query } = groups ?? {};
  if (!BUCKET.test(bucket)) {
    throw new Error(
      'must name a bucket, s3://<bucket>/<prefix>, with 3 to 63 letters, digits, single dots, hyphens and underscores, which begins and ends with a letter or digit and is no IP address',
    );
  }
  const segments = prefix.split('/').filter((segment) => segment !== '');
  if (!segments.every((segment) => /^(?!\.{1,2}$)[\w.-]+$/.test(segment))) {
    throw new Error('must have a prefix of letters, digits, ".", "_" and "-" between slashes');
  }
  const parameters = new URLSearchParams(query);
  for (const [name, value] of parameters) {
    const parameter = Object.hasOwn(PARAMETERS, name) ? PARAMETERS[name] : undefined;
    if (!parameter)
      throw new Error('has an unknown parameter. Use region, endpoint, path_style and checksums');
    if (parameters.getAll(name).length > 1) throw new Error(`${name} must appear only once`);
    if (!parameter.pattern.test(value)) throw new Error(`${name} ${parameter.rule}`);
  }
  const endpoint = parameters.get('endpoint') ?? undefined;
  const checksums = parameters.get('checksums');
  const isOther = endpoint !== undefined && !AWS.test(endpoint);
  return {
    bucket,
    prefix: segments.map((segment) => `${segment}/`).join(''),
    region: parameters.get('region') ?? undefined,
    endpoint,
    isPathStyle: parameters.get('path_style') === 'true',
    hasChecksums: checksums !== null ? checksums === 'true' : isOther ? false : undefined,
  };
}
