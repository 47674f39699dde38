export { describeWithRedis, findRedis, provideRedis, type TestRedis } from './redis';
export {
  createTestDatabase,
  startTestDatabaseServer,
  type TestDatabase,
  type TestDatabaseServer,
} from './test-database';
