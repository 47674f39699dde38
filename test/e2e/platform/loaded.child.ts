/** Preloaded with `--require`. Prints the loaded OpenTelemetry packages at exit. */
process.on('exit', () => {
  const packages = Object.keys(require.cache).flatMap((file) => {
    const match = /node_modules\/(@opentelemetry\/[^/]+)\//.exec(file);
    return match ? [match[1]] : [];
  });
  process.stderr.write(`loaded: ${[...new Set(packages)].join(' ')}\n`);
});
