/**
 * Returns the attributes of the resource that OpenTelemetry's environment variables name. Without them, the service has the name
 * of the npm package, or of the script.
 */
export function environmentAttributes(): Record<string, string> {
  const { env, argv } = typeof process === 'undefined' ? { env: {}, argv: [] } : process;
  const script = argv[1]?.split(/[\\/]/).at(-1);
  const variables = env as Record<string, string | undefined>;
  const name = variables.OTEL_SERVICE_NAME ?? variables.npm_package_name ?? script;
  const attributes = Object.fromEntries(
    (variables.OTEL_RESOURCE_ATTRIBUTES ?? '').split(',').flatMap((pair) => {
      const [, key, value] = /^\s*([^=]+?)\s*=(.*)$/s.exec(pair) ?? [];
      return key === undefined ? [] : [[key, decoded(value!.trim())]];
    }),
  ) as Record<string, string>;
  const hasOwnName = 'service.name' in attributes && variables.OTEL_SERVICE_NAME === undefined;
  return { ...attributes, ...(name && !hasOwnName && { 'service.name': name }) };
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** Tells whether Node was started with `--import` or `--require` and this module, in its arguments or in `NODE_OPTIONS`. */
export function isPreloaded(module: string): boolean {
  if (typeof process === 'undefined') return false;
  const args = [...(process.execArgv ?? []), ...(process.env.NODE_OPTIONS ?? '').split(/\s+/)];
  return args.some((arg, index) => {
    const [flag, value = args[index + 1]] = arg.split('=');
    return ['--import', '--require', '-r'].includes(flag!) && value?.replace(/^["']|["']$/g, '') === module;
  });
}
