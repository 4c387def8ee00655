export * from './rate-limit';
export { RateLimitMetrics } from './generated';
