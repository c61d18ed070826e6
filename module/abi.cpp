#include "abi.hpp"

namespace holdfast::server::abi {
namespace {

using get_function = int (*)(char const* name, void* address);

class loader {
 public:
  /// A context begins with the address of the function that gives all others.
  explicit loader(context* server) : get_{*reinterpret_cast<get_function*>(server)} {}

  template <typename Function>
  loader& optional(char const* name, Function*& function) {
    if (get_(name, static_cast<void*>(&function)) != ok) function = nullptr;
    return *this;
  }

  template <typename Function>
  loader& operator()(char const* name, Function*& function) {
    optional(name, function);
    if (function == nullptr && missing_ == nullptr) missing_ = name;
    return *this;
  }

  [[nodiscard]] char const* missing() const { return missing_; }

 private:
  get_function get_;
  char const* missing_ = nullptr;
};

void load_administration(loader& get) {
  get("RedisModule_IsModuleNameBusy", redis.is_module_name_busy);
  get("RedisModule_SetModuleAttribs", redis.set_module_attributes);
  get("RedisModule_SetModuleOptions", redis.set_module_options);
  get("RedisModule_CreateCommand", redis.create_command);
  get("RedisModule_RegisterInfoFunc", redis.register_info);
  get("RedisModule_InfoAddSection", redis.info_add_section);
  get("RedisModule_InfoAddFieldULongLong", redis.info_add_field);
  get("RedisModule_Log", redis.log);
  get.optional("RedisModule_GetCommand", redis.get_command);
  get.optional("RedisModule_SetCommandInfo", redis.set_command_info);
  get.optional("RedisModule_SubscribeToServerEvent", redis.subscribe);
  get.optional("RedisModule_GetServerInfo", redis.get_server_info);
  get.optional("RedisModule_FreeServerInfo", redis.free_server_info);
  get.optional("RedisModule_ServerInfoGetFieldC", redis.server_info_text);
}

void load_requests_and_replies(loader& get) {
  get("RedisModule_IsKeysPositionRequest", redis.is_keys_position_request);
  get("RedisModule_KeyAtPos", redis.key_at_position);
  get("RedisModule_GetContextFlags", redis.context_flags);
  get("RedisModule_WrongArity", redis.wrong_arity);
  get("RedisModule_ReplyWithError", redis.reply_error);
  get("RedisModule_ReplyWithLongLong", redis.reply_integer);
  get("RedisModule_ReplyWithArray", redis.reply_array);
  get("RedisModule_ReplyWithStringBuffer", redis.reply_text);
  get("RedisModule_CreateString", redis.create_string);
  get("RedisModule_FreeString", redis.free_string);
  get("RedisModule_RetainString", redis.retain_string);
  get("RedisModule_StringPtrLen", redis.string_text);
}

void load_keys(loader& get) {
  get("RedisModule_OpenKey", redis.open_key);
  get.optional("RedisModule_KeyExists", redis.key_exists);
  get("RedisModule_CloseKey", redis.close_key);
  get("RedisModule_KeyType", redis.type_of);
  get("RedisModule_ValueLength", redis.value_length);
  get("RedisModule_DeleteKey", redis.delete_key);
  get("RedisModule_GetAbsExpire", redis.expiry);
  get("RedisModule_SetAbsExpire", redis.set_expiry);
  get("RedisModule_GetExpire", redis.ttl);
  get("RedisModule_SignalModifiedKey", redis.signal_modified);
  get("RedisModule_NotifyKeyspaceEvent", redis.notify);
}

void load_values(loader& get) {
  get("RedisModule_StringDMA", redis.string_in_place);
  get("RedisModule_StringTruncate", redis.string_truncate);
  get("RedisModule_StringSet", redis.string_set);
  get("RedisModule_ZsetAdd", redis.zset_add);
  get("RedisModule_ZsetScore", redis.zset_score);
  get("RedisModule_ZsetRem", redis.zset_remove);
  get("RedisModule_ZsetFirstInScoreRange", redis.zset_first);
  get("RedisModule_ZsetLastInScoreRange", redis.zset_last);
  get("RedisModule_ZsetRangeCurrentElement", redis.zset_current);
  get("RedisModule_ZsetRangeNext", redis.zset_next);
  get("RedisModule_ZsetRangeStop", redis.zset_stop);
  get("RedisModule_HashSet", redis.hash_set);
  get("RedisModule_HashGet", redis.hash_get);
}

void load_calls(loader& get) {
  get("RedisModule_Replicate", redis.replicate);
  get("RedisModule_Call", redis.call);
  get("RedisModule_FreeCallReply", redis.free_reply);
  get("RedisModule_CallReplyType", redis.type_of_reply);
  get("RedisModule_CallReplyInteger", redis.integer_of);
  get("RedisModule_CallReplyStringPtr", redis.text_of);
  get("RedisModule_CallReplyArrayElement", redis.element_of);
}

}  // namespace

char const* load(context* const server) {
  loader get{server};
  load_administration(get);
  load_requests_and_replies(get);
  load_keys(get);
  load_values(get);
  load_calls(get);
  return get.missing();
}

}  // namespace holdfast::server::abi
