export { JsonPool, JsonThreads, JsonThreadsModule } from './json-threads';
export { type Outline } from './outline';
