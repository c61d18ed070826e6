local first = redis.call('TIME')[1]
return first
