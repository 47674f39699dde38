export { JsonPool, JsonThreads, JsonThreadsModule } from './json-threads';
